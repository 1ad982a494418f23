"""A small world and small logs for the tests of the data room."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

from oocdm.data import Dataset
from oocdm.data.log import Arrays
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema
from oocdm.worlds import AbstractWorld, WorldState


class Ant(ObjectClass):
    x = Real()
    place = Real(low=-5, high=5, shape=(2,))
    food = Integer(0, 9)
    heading = Categorical(["north", "south", "west"])
    awake = Boolean()
    mass = Real(static=True)
    push = Real(action=True)
    carry = Boolean(action=True)


class Hill(ObjectClass):
    height = Real()


class ToyWorld(AbstractWorld):
    """Ants that may die, hills that never change; `x` counts the steps of the episode."""

    schema = Schema(Ant, Hill)
    max_episode_steps = 8
    max_objects = MappingProxyType({"Ant": 6, "Hill": 1})

    def __init__(self, end: float = 0.2, noise: float = 0.0, in_place: bool = False) -> None:
        self.end = end
        self.noise = noise
        self.in_place = in_place
        self.worlds_stepped = 0

    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        shape = (num_worlds, 6)
        present = np.arange(6) < rng.integers(2, 5, size=(num_worlds, 1))
        ants = {
            "x": np.zeros(shape),
            "place": rng.uniform(-5, 5, size=(*shape, 2)),
            "food": rng.integers(0, 10, size=shape),
            "heading": rng.integers(0, 3, size=shape),
            "awake": rng.integers(0, 2, size=shape),
            "mass": rng.uniform(1, 2, size=shape),
        }
        hills = {"height": rng.normal(size=(num_worlds, 1))}
        return WorldState(
            {"Ant": ants, "Hill": hills},
            {"Ant": present, "Hill": np.ones((num_worlds, 1), dtype=bool)},
        )

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> Arrays:
        shape = state.present["Ant"].shape
        return {"Ant": {"push": rng.normal(size=shape), "carry": rng.random(shape) < 0.5}}

    def step(
        self, state: WorldState, actions: Arrays, rng: np.random.Generator
    ) -> tuple[WorldState, np.ndarray, np.ndarray]:
        num = len(state.present["Hill"])
        self.worlds_stepped += num
        ants = dict(state.values["Ant"])
        if self.in_place:
            ants["x"] += 1
        else:
            ants["x"] = ants["x"] + 1
        present = dict(state.present)
        present["Ant"] = state.present["Ant"] & (rng.random((num, 6)) > 0.05)
        after = WorldState({"Ant": ants, "Hill": state.values["Hill"]}, present)
        return after, ants["x"][:, 0].copy(), rng.random(num) < self.end

    def observe(self, state: WorldState, rng: np.random.Generator) -> WorldState:
        if not self.noise:
            return state
        ants = dict(state.values["Ant"])
        ants["x"] = ants["x"] + self.noise * rng.normal(size=ants["x"].shape)
        return WorldState({**state.values, "Ant": ants}, state.present)


@pytest.fixture
def make_world() -> Callable[..., ToyWorld]:
    return ToyWorld


@pytest.fixture
def schema() -> Schema:
    return ToyWorld.schema


@pytest.fixture
def frames() -> dict[str, pd.DataFrame]:
    """Two episodes: ants a, b, then c alone; b misses a step, one value is missing."""
    ants = pd.DataFrame(
        {
            "episode": [0, 0, 0, 0, 0, 7, 7],
            "step": [0, 0, 1, 2, 2, 4, 5],
            "object": ["b", "a", "a", "a", "b", "c", "c"],
            "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
            "place": [[0.0, 1.0]] * 7,
            "food": pd.array([1, 2, None, 4, 5, 6, 7], dtype="Int64"),
            "heading": ["north", "south", "west", "north", "north", "south", "south"],
            "awake": [True, False, True, True, True, False, False],
            "mass": [1.5, 2.5, 2.5, 2.5, 1.5, 0.5, 0.5],
            "push": [0.1, 0.2, 0.3, np.nan, np.nan, 0.6, np.nan],
            "carry": [True, False, True, None, None, True, None],
        }
    )
    hills = pd.DataFrame(
        {"episode": [0, 0, 0, 7, 7], "step": [0, 1, 2, 4, 5], "object": 0, "height": 1.0}
    )
    return {"Ant": ants, "Hill": hills}


@pytest.fixture
def data(frames: dict[str, pd.DataFrame], schema: Schema) -> Dataset:
    return Dataset.from_frames(frames, schema)
