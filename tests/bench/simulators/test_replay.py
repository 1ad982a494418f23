"""A simulator replayed beside a model."""

from __future__ import annotations

import math

import pytest

import oocdm
from oocdm.bench.simulators.mpe import MPE
from oocdm.bench.simulators.replay import slowed_by
from oocdm.data.dataset import Dataset
from oocdm.training import FitResult

QUICK = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)


@pytest.fixture(scope="module")
def blind(mpe: Dataset) -> FitResult:
    """A model in which no agent reads another one."""
    rows = [f"{c}.{f} <- self.{f}, self.v{f}" for c in ("Predator", "Prey") for f in ("x", "y")]
    return oocdm.fit(mpe, seed=0, schedule=QUICK, graph=rows)


def test_the_simulator_replayed_does_as_it_did_and_is_stopped(
    mpe: Dataset, blind: FitResult
) -> None:
    found = slowed_by(MPE, blind, mpe, most=10)
    assert found["cases"] == 10 == len(found["true"])
    assert max(found["replay_error"]) < 1e-3
    assert -0.3 < found["true_mean"] < -0.05
    assert found["believed"] == [0.0] * 10 and found["half_as_much"] == 0.0


def test_no_case_is_no_error(mpe: Dataset, blind: FitResult) -> None:
    found = slowed_by(MPE, blind, mpe, most=0)
    assert found["cases"] == 0 and found["true_mean"] is None and found["replay_error"] is None
    assert not any(isinstance(v, float) and math.isnan(v) for v in found.values())
