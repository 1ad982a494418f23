"""Braked cars in highway-env."""

from __future__ import annotations

import math

import oocdm
from oocdm.bench.highway_replay import BRAKED, brake_effects
from oocdm.data.dataset import Dataset

QUICK = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)


def test_the_simulator_replayed_does_as_it_did_and_brakes(highway: Dataset) -> None:
    blind = ["Car.speed <- self.speed", "Car.x <- self.x, self.speed"]
    result = oocdm.fit(highway, seed=0, schedule=QUICK, graph=blind)
    found = brake_effects(result, highway, most=6)
    assert found["cases"] == 6
    usual, _ = found["replay_error"]
    assert usual < 0.01
    assert -BRAKED < found["true_mean"] < -0.5
    # A model in which no car reads another one believes that none brakes.
    assert found["believed"] == [0.0] * 6 and found["brakes"] == 0.0


def test_no_case_is_no_error(highway: Dataset) -> None:
    result = oocdm.fit(highway, seed=0, schedule=QUICK, graph=["Car.speed <- self.speed"])
    found = brake_effects(result, highway, most=0)
    assert found["cases"] == 0 and found["true_mean"] is None and found["replay_error"] is None
    assert not any(isinstance(v, float) and math.isnan(v) for v in found.values())
