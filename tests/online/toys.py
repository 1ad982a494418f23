"""A world of carts that is quick to learn in, and quick ways to learn and to plan."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from oocdm import CEM, ModelOptions, ObjectClass, Oocdm, Real, Schedule, Schema, Task
from oocdm.data.log import Arrays
from oocdm.worlds import AbstractWorld, WorldState


class Cart(ObjectClass):
    x = Real()
    push = Real(-1.0, 1.0, action=True)


class Carts(AbstractWorld):
    """Two carts that are pushed, and paid for nearness to 0; they stop when they are far away."""

    schema = Schema(Cart)
    max_episode_steps = 6
    max_objects = MappingProxyType({"Cart": 2})
    task = Task(
        reward=lambda before, after: -after["Cart.x"].abs().sum(1),
        terminated=lambda after: (after["Cart.x"].abs() > 4).any(1),
        reads=["Cart.x"],
    )

    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        x = rng.normal(size=(num_worlds, 2)).astype(np.float32)
        return WorldState({"Cart": {"x": x}}, {"Cart": np.ones((num_worlds, 2), bool)})

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> Arrays:
        return {"Cart": {"push": rng.uniform(-1, 1, size=state.present["Cart"].shape)}}

    def step(
        self, state: WorldState, actions: Arrays, rng: np.random.Generator
    ) -> tuple[WorldState, np.ndarray, np.ndarray]:
        x = (state.values["Cart"]["x"] + actions["Cart"]["push"]).astype(np.float32)
        after = WorldState({"Cart": {"x": x}}, state.present)
        return after, np.full(len(x), 7.0), (np.abs(x) > 4).any(1)


class NoTask(Carts):
    task = None


SMALL = ModelOptions(encoding_dim=4, local_dim=4, message_dim=4, decoder_dim=8)
QUICK = Schedule(
    iterations=1, steps_per_iteration=2, polish_steps=2, patience=9, batch_size=32, copies=1
)
METHOD = Oocdm(model=SMALL, schedule=QUICK, num_graphs=4, threshold=1e-3)
PLANNER = CEM(horizon=2, iterations=2, samples=8, elites=3)
# Three rounds, of 24, 24 and 48 transitions, each in two parts.
CALL: dict[str, Any] = {
    "steps": 96, "first": 24, "num_worlds": 4, "method": METHOD, "planner": PLANNER, "seed": 3
}  # fmt: skip


def assert_same_data(one: Any, other: Any) -> None:
    """The same episodes, to the bit."""
    assert np.array_equal(one.episode, other.episode) and np.array_equal(one.step, other.step)
    for f in ("x", "push"):
        assert np.array_equal(one.cells["Cart"].values[f], other.cells["Cart"].values[f]), f
