"""Braked cars in highway-env."""

from __future__ import annotations

from itertools import islice

import oocdm
from oocdm.bench.simulators.highway import HIGHWAY
from oocdm.bench.simulators.highway_cases import BRAKED, GAP, HORIZON, braked_cars
from oocdm.bench.simulators.replay import slowed_by
from oocdm.data.dataset import Dataset

QUICK = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)


def test_a_case_is_a_car_close_behind_one_that_brakes(highway: Dataset) -> None:
    cases = list(islice(braked_cars(highway), 5))
    assert len(cases) == 5
    for case in cases:
        ((leader, speed),), (follower,) = case.do.items(), case.watched
        x, speeds = (highway.values["Car"][f][case.row] for f in ("x", "speed"))
        assert GAP[0] < x[leader.object] - x[follower.object] < GAP[1]
        assert speed == float(speeds[leader.object]) - BRAKED
        assert highway.episode[case.row] == highway.episode[case.row + HORIZON]


def test_the_simulator_replayed_does_as_it_did_and_brakes(highway: Dataset) -> None:
    blind = ["Car.speed <- self.speed", "Car.x <- self.x, self.speed"]
    result = oocdm.fit(highway, seed=0, schedule=QUICK, graph=blind)
    found = slowed_by(HIGHWAY, result, highway, most=6)
    assert found["cases"] == 6
    usual, _ = found["replay_error"]
    assert usual < 0.01
    assert -BRAKED < found["true_mean"] < -0.5
    # A model in which no car reads another one believes that none brakes.
    assert found["believed"] == [0.0] * 6 and found["half_as_much"] == 0.0
