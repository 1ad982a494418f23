"""The random agent."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import torch

import oocdm
from oocdm.data.log import Arrays
from oocdm.data.snapshot import Snapshot
from oocdm.envs.mouse import MouseWorld
from oocdm.errors import PlanError
from oocdm.planning import RandomAgent, TrueSimulator, run_episodes
from oocdm.schema import Integer, ObjectClass, Real, Schema
from oocdm.worlds.convert import to_snapshot
from oocdm.worlds.world import AbstractWorld, WorldState


def test_it_draws_what_the_world_draws_and_only_for_those_that_act() -> None:
    world = MouseWorld()
    state = world.reset(20, np.random.default_rng(1))
    snapshot = to_snapshot(world.schema, state)
    agent = RandomAgent(world, seed=3)
    agent.reset(20)
    expected = world.random_actions(state, np.random.default_rng([3, 1]))["Mouse"]["move"]
    assert np.array_equal(agent.act(snapshot)["Mouse"]["move"].numpy(), expected)
    can_act = {"Mouse": torch.arange(20).unsqueeze(-1) < 10}
    agent.reset(20)
    found = agent.act(snapshot, can_act)["Mouse"]["move"].numpy()
    assert np.array_equal(found[:10], expected[:10]) and not found[10:].any()


class Crane(ObjectClass):
    x = Real()
    lift = Integer(2, 5, action=True)
    pull = Real(0.5, 1.0, shape=(2,), action=True)


class Cranes(AbstractWorld):
    """Only its random policy is asked."""

    schema, max_episode_steps, max_objects = Schema(Crane), 5, MappingProxyType({"Crane": 3})

    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        raise NotImplementedError

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> Arrays:
        shape = state.present["Crane"].shape
        return {"Crane": {"lift": np.full(shape, 5), "pull": np.ones((*shape, 2))}}

    def step(self, state: WorldState, actions: Arrays, rng: np.random.Generator) -> Any:
        raise NotImplementedError


def test_those_that_cannot_act_do_what_is_allowed_and_nearest_to_nothing() -> None:
    present = {"Crane": torch.tensor([[True, True, False]])}
    state = Snapshot.of(Cranes.schema, {"Crane": {"x": torch.zeros(1, 3)}}, present)
    can_act = {"Crane": torch.tensor([[True, False, True]])}
    found = RandomAgent(Cranes()).act(state, can_act)["Crane"]
    assert found["lift"].tolist() == [[5, 2, 0]] and found["lift"].dtype == torch.int64
    assert found["pull"].tolist() == [[[1, 1], [0.5, 0.5], [0, 0]]]


def test_an_environment_stands_for_its_world() -> None:
    env = oocdm.make("mouse")
    assert RandomAgent(env).world is env.world
    assert TrueSimulator(env).world is env.world


@pytest.mark.parametrize("seed", [-1, 0.5, None])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    message = f"RandomAgent: `seed`: expected a whole number of at least 0, got {seed}."
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        RandomAgent(MouseWorld(), seed)


class Guesser(ObjectClass):
    goal = Integer(0, 4)
    said = Integer(0, 4)
    say = Integer(0, 4, action=True)


class Guessing(AbstractWorld):
    """The world and the random policy draw the same kind of number, one after the other."""

    schema, max_episode_steps, max_objects = Schema(Guesser), 1, MappingProxyType({"Guesser": 1})

    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        goal = rng.integers(5, size=(num_worlds, 1))
        values = {"Guesser": {"goal": goal, "said": np.zeros_like(goal)}}
        return WorldState(values, {"Guesser": np.ones((num_worlds, 1), bool)})

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> Arrays:
        return {"Guesser": {"say": rng.integers(5, size=state.present["Guesser"].shape)}}

    def step(
        self, state: WorldState, actions: Arrays, rng: np.random.Generator
    ) -> tuple[WorldState, np.ndarray, np.ndarray]:
        goal, said = state.values["Guesser"]["goal"], actions["Guesser"]["say"]
        after = WorldState({"Guesser": {"goal": goal, "said": said}}, state.present)
        return after, (goal == said).mean(1), np.ones(len(goal), bool)


def test_it_does_not_know_what_a_world_with_the_same_seed_draws() -> None:
    found = run_episodes(Guessing(), RandomAgent(Guessing(), seed=5), episodes=1000, seed=5)
    assert 0.15 < found.mean_return < 0.25
