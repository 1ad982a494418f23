"""Rollouts beside the simplest guesses."""

from __future__ import annotations

import numpy as np
import pytest

import oocdm
from oocdm.bench.rollout_errors import HORIZON, rollout_errors
from oocdm.data.dataset import Dataset
from oocdm.worlds import AbstractWorld, WorldState


class Ball(oocdm.ObjectClass):
    x = oocdm.Real()
    v = oocdm.Real()


class Balls(AbstractWorld):
    """They go on at the same speed."""

    schema, max_episode_steps, max_objects = oocdm.Schema(Ball), 24, {"Ball": 2}

    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        values = {f: rng.normal(size=(num_worlds, 2)) for f in ("x", "v")}
        return WorldState({"Ball": values}, {"Ball": np.ones((num_worlds, 2), bool)})

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> dict[str, object]:
        return {"Ball": {}}

    def step(self, state, actions, rng):  # type: ignore[no-untyped-def]
        values = state.values["Ball"]
        after = {"Ball": {"x": values["x"] + values["v"], "v": values["v"]}}
        ended = np.zeros(len(values["x"]), bool)
        return WorldState(after, state.present), np.zeros(len(ended)), ended


@pytest.fixture(scope="module")
def balls() -> Dataset:
    return oocdm.collect(Balls(), steps=480, seed=0)


def test_guesses_have_the_errors_that_they_must_have(balls: Dataset) -> None:
    quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    result = oocdm.fit(balls, seed=0, schedule=quick, graph=["Ball.x <- self.x, self.v"])
    found = rollout_errors(result, balls)
    assert list(found) == ["Ball.x", "Ball.v"]
    # What goes on as it did is guessed at once; what stays where it is is wrong by ten steps.
    assert found["Ball.x"]["velocity"] == pytest.approx(0, abs=1e-4)
    speed = np.abs(balls.values["Ball"]["v"][balls.step == 0]).mean()
    assert found["Ball.x"]["persistence"] == pytest.approx(HORIZON * speed, rel=1e-4)
    assert found["Ball.v"]["persistence"] == pytest.approx(0, abs=1e-6)
    low, high = found["Ball.x"]["over_velocity"]
    assert 0 < low < found["Ball.x"]["model"] < high  # hardly trained
