"""True worlds as simulators."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from oocdm.envs.block import BlockWorld
from oocdm.envs.mouse import MouseWorld
from oocdm.errors import PlanError, SchemaError
from oocdm.inference import with_actions
from oocdm.planning import TrueSimulator
from oocdm.task import Task
from oocdm.worlds.convert import to_snapshot
from tests.planning.toys import Walk


@pytest.mark.parametrize("variant", ["paper", "released"])
def test_steps_are_those_of_the_world(variant: str) -> None:
    world = MouseWorld(num_food=(1, 4), variant=variant)
    rng = np.random.default_rng(0)
    simulator = TrueSimulator(world)
    state = world.reset(50, rng)
    for seed in range(5):
        actions = world.random_actions(state, rng)
        moves = {"Mouse": {"move": torch.from_numpy(actions["Mouse"]["move"])}}
        before = with_actions(to_snapshot(world.schema, state), moves)
        after = simulator.step(before, seed)
        state, reward, terminated = world.step(state, actions, np.random.default_rng(seed))
        for c, fields in state.values.items():
            assert torch.equal(after.present[c], torch.from_numpy(state.present[c]))
            assert set(after.values[c]) == set(fields)
            for f, value in fields.items():
                assert torch.equal(after[c, f], torch.from_numpy(value)), f"{c}.{f}"
        earned = simulator.reward(before, after)
        assert torch.allclose(earned, torch.from_numpy(reward), atol=1e-5)
        assert simulator.terminated(after).tolist() == terminated.tolist()


def test_worlds_that_step_in_place_leave_the_state_as_it_was() -> None:
    world = Walk(in_place=True)
    simulator = TrueSimulator(world)
    state = to_snapshot(world.schema, world.reset(2, np.random.default_rng(0)))
    before = with_actions(state, {"Walker": {"stride": torch.ones(2, 1, dtype=torch.long)}})
    after = simulator.step(before, seed=0)
    assert before["Walker", "x"].tolist() == [[0], [0]]
    assert after["Walker", "x"].tolist() == [[1], [1]]


def test_a_task_may_be_given() -> None:
    task = Task(lambda before, after: 7 * after["Walker", "x"][:, 0], lambda after: after, [])
    assert TrueSimulator(Walk(), task).task is task


class Aimless(BlockWorld):
    def __init__(self) -> None:
        super().__init__()
        self.task = None


def test_a_task_is_needed() -> None:
    message = (
        "TrueSimulator: expected a world with a task, got Aimless without one. Give it one: "
        "TrueSimulator(world, task=oocdm.Task(...))."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        TrueSimulator(Aimless())


def test_the_task_must_fit_the_world() -> None:
    task = Task(lambda before, after: after, lambda after: after, ["Walker.y"])
    with pytest.raises(SchemaError, match=r"^Unknown field `Walker\.y`"):
        TrueSimulator(Walk(), task)
