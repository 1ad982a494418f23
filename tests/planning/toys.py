"""Small deterministic worlds whose best actions are known."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from oocdm.data.log import Arrays
from oocdm.data.snapshot import Snapshot
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema
from oocdm.task import Task
from oocdm.worlds.world import AbstractWorld, WorldState

ACTIONS = {
    "push": Real(-1.0, 1.0, action=True),
    "throw": Real(-1.0, 1.0, shape=(2,), action=True),
    "hope": Real(action=True),
    "climb": Integer(-3, 3, action=True),
    "paint": Categorical(["red", "green", "blue", "grey"], action=True),
    "open": Boolean(action=True),
}
STATES = {
    "push": Real(),
    "throw": Real(shape=(2,)),
    "hope": Real(),
    "climb": Integer(),
    "paint": Categorical(4),
    "open": Boolean(),
}


def robots(*actions: str) -> Schema:
    """Robots with some of the actions, and doors that do nothing."""
    fields: dict[str, Any] = {f"{name}_goal": STATES[name] for name in actions}
    fields |= {name: ACTIONS[name] for name in actions}
    fields["mass"] = Real(static=True)
    door = type("Door", (ObjectClass,), {"width": Real()})
    return Schema(type("Robot", (ObjectClass,), fields), door)


class Robots:
    """Each robot earns most if every action equals its goal; a number's goal shrinks by it.

    So the best sequence does what the goal says at once, and then nothing.
    """

    def __init__(self, *actions: str) -> None:
        self.schema = robots(*actions)
        self.actions = actions
        self.rows: list[int] = []

    def state(
        self, goals: Mapping[str, Tensor], present: Tensor | None = None, doors: int = 1
    ) -> Snapshot:
        values = {f"{name}_goal": goals[name] for name in self.actions}
        batch, objects = goals[self.actions[0]].shape[:2]
        values["mass"] = torch.ones(batch, objects)
        there = torch.ones(batch, objects, dtype=torch.bool) if present is None else present
        masks = {"Robot": there, "Door": torch.ones(batch, doors, dtype=torch.bool)}
        door = {"width": torch.zeros(batch, doors)}
        return Snapshot.of(self.schema, {"Robot": values, "Door": door}, masks)

    def step(self, before: Snapshot, seed: int) -> Snapshot:
        self.rows.append(before.batch_size)
        values = dict(before.values["Robot"])
        for name in self.actions:
            action = values.pop(name)
            if name not in ("paint", "open"):
                values[f"{name}_goal"] = values[f"{name}_goal"] - action
        return Snapshot.of(
            self.schema, {"Robot": values, "Door": before.values["Door"]}, before.present
        )

    def reward(self, before: Snapshot, after: Snapshot) -> Tensor:
        total = torch.zeros(before.batch_size)
        for name in self.actions:
            goal = after["Robot", f"{name}_goal"]
            if name in ("paint", "open"):
                lost = (before["Robot", name] != goal).float()
            else:
                lost = goal.float().square()
            lost = lost.flatten(2).sum(2) if lost.ndim > 2 else lost
            # One object after another, so that sums do not depend on the padding.
            for column in (lost * before.present["Robot"]).unbind(1):
                total = total - column
        return total

    def terminated(self, after: Snapshot) -> Tensor:
        return torch.zeros(after.batch_size, dtype=torch.bool)


GOALS = {
    "push": torch.tensor([[0.6, -0.3], [0.1, 0.9]]),
    "throw": torch.tensor([[[0.5, -0.5], [0.0, 0.8]], [[-0.7, 0.2], [0.3, 0.3]]]),
    "hope": torch.tensor([[1.5, -1.0], [0.5, 2.0]]),
    "climb": torch.tensor([[2, -1], [0, 3]]),
    "paint": torch.tensor([[3, 1], [0, 2]]),
    "open": torch.tensor([[1, 0], [0, 1]]),
}


def generators(*seeds: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in seeds]


class Walker(ObjectClass):
    x = Real()
    stride = Integer(-1, 1, action=True)


class Walk(AbstractWorld):
    """A walker is paid for nearness to 3 and dies at -2; every world starts at 0."""

    schema = Schema(Walker)
    max_episode_steps = 8
    max_objects = MappingProxyType({"Walker": 1})

    def __init__(self, in_place: bool = False) -> None:
        self.in_place = in_place
        self.worlds_stepped: list[int] = []
        self.task = Task(
            reward=lambda before, after: -(after["Walker", "x"][:, 0] - 3).abs(),
            terminated=lambda after: after["Walker", "x"][:, 0] <= -2,
            reads=["Walker.x"],
        )

    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        x = np.zeros((num_worlds, 1), np.float32)
        return WorldState({"Walker": {"x": x}}, {"Walker": np.ones((num_worlds, 1), bool)})

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> Arrays:
        return {"Walker": {"stride": rng.integers(-1, 2, size=state.present["Walker"].shape)}}

    def step(
        self, state: WorldState, actions: Arrays, rng: np.random.Generator
    ) -> tuple[WorldState, np.ndarray, np.ndarray]:
        self.worlds_stepped.append(len(state.present["Walker"]))
        x, change = state.values["Walker"]["x"], actions["Walker"]["stride"]
        x = np.add(x, change, out=x) if self.in_place else (x + change).astype(np.float32)
        after = WorldState({"Walker": {"x": x}}, state.present)
        return after, -np.abs(x[:, 0] - 3), x[:, 0] <= -2
