"""A world of balls without any mistake, and ways to break it."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from oocdm import AbstractWorld, Boolean, ClassGraph, ObjectClass, Real, Schema, Task
from oocdm.worlds import WorldState


class Ball(ObjectClass):
    x = Real(-9, 9)
    v = Real(shape=(2,))
    is_hot = Boolean()
    mass = Real(static=True)
    push = Real(-1, 1, action=True)


class Wall(ObjectClass):
    hits = Real()


SCHEMA = Schema(Ball, Wall)


GRAPH = [
    "Ball.x <- self.x, self.push, self.mass",
    "Ball.v <- self.v",
    "Ball.is_hot <- self.is_hot",
    "Wall.hits <- self.hits, Ball[*].x",
]


State = dict[str, dict[str, np.ndarray]]


class Balls(AbstractWorld):
    """One to three balls and a wall, without any mistake."""

    schema = SCHEMA
    max_episode_steps = 12
    max_objects = MappingProxyType({"Ball": 3, "Wall": 1})
    true_graph = ClassGraph.parse(SCHEMA, GRAPH)
    task = Task(
        reward=lambda before, after: after["Wall", "hits"][:, 0] + before["Ball", "push"].sum(1),
        terminated=lambda after: after["Wall", "hits"][:, 0] > 5,
        reads=["Wall.hits", "Ball.push"],
    )

    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        there = np.arange(3) < rng.integers(1, 4, size=(num_worlds, 1))
        ball = {
            "x": rng.uniform(-1, 1, size=(num_worlds, 3)),
            "v": rng.normal(size=(num_worlds, 3, 2)),
            "is_hot": rng.random((num_worlds, 3)) < 0.5,
            "mass": rng.uniform(1, 2, size=(num_worlds, 3)),
        }
        for values in ball.values():
            values[~there] = 0
        wall = {"hits": np.zeros((num_worlds, 1))}
        return WorldState(
            {"Ball": ball, "Wall": wall}, {"Ball": there, "Wall": np.ones((num_worlds, 1), bool)}
        )

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> State:
        return {"Ball": {"push": rng.uniform(-1, 1, size=state.present["Ball"].shape)}}

    def step(self, state: WorldState, actions: State, rng: np.random.Generator) -> Any:
        ball, there = dict(state.values["Ball"]), state.present["Ball"]
        noise = rng.normal(size=there.shape)
        moved = ball["x"] + (actions["Ball"]["push"] + 0.1 * noise) * ball["mass"]
        hits = state.values["Wall"]["hits"] + (ball["x"] * there).sum(1, keepdims=True)
        ball["x"] = np.clip(moved, -9, 9) * there
        values = {"Ball": ball, "Wall": {"hits": hits}}
        return WorldState(values, state.present), hits[:, 0], hits[:, 0] > 5


def changed(function: str, change: Callable[..., Any]) -> AbstractWorld:
    """The world with something done to what a function returns."""

    def call(self: Any, *arguments: Any) -> Any:
        return change(getattr(Balls, function)(self, *arguments), *arguments)

    broken: AbstractWorld = type("Broken", (Balls,), {function: call})()
    return broken


def with_field(class_name: str, field: str, change: Callable[[Any], Any]) -> Callable[..., Any]:
    """A state, or what a step returns, with other values of one field."""

    def apply(found: Any, *_: Any) -> Any:
        if isinstance(found, tuple):
            return apply(found[0]), *found[1:]
        fields = {**found.values[class_name]}
        fields[field] = change(fields[field])
        return WorldState({**found.values, class_name: fields}, found.present)

    return apply
