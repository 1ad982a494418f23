"""All that a planner sees of a world: a step of a batch, its reward, and whether it ended."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.data.world import World, world_of
from oocdm.errors import PlanError
from oocdm.planning.convert import to_arrays, to_snapshot, to_world_state
from oocdm.schema import Schema
from oocdm.task import Task


class Simulator(Protocol):
    """What a planner asks of a world, learned or true; rows are independent of each other.

    Planners ask in `torch.inference_mode()`: no gradients are recorded, and tensors that are made
    here and kept cannot be changed in place later. A simulator may have two attributes more:
    `horizon`, the most steps that it can look ahead, and `device`, where it wants its states.

    >>> import torch
    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(-1.0, 1.0, action=True)
    >>> class Pushing:
    ...     schema = Schema(Ball)
    ...     def step(self, before, seed):
    ...         x = before["Ball", "x"] + before["Ball", "push"]
    ...         return Snapshot.of(self.schema, {"Ball": {"x": x}}, before.present)
    ...     def reward(self, before, after):
    ...         return -after["Ball", "x"].square().sum(1)
    ...     def terminated(self, after):
    ...         return after["Ball", "x"].amax(1) > 9
    >>> simulator: Simulator = Pushing()
    """

    @property
    def schema(self) -> Schema:
        """The classes and fields of its objects."""
        ...

    def step(self, before: Snapshot, seed: int) -> Snapshot:
        """One step of every row: from states and actions to every field but the actions.

        What is random follows from `seed`: equal rows with equal seeds end alike.
        """
        ...

    def reward(self, before: Snapshot, after: Snapshot) -> Tensor:
        """What the step earned, (batch,)."""
        ...

    def terminated(self, after: Snapshot) -> Tensor:
        """Whether the step ended the episode, (batch,) booleans."""
        ...


class WorldSimulator:
    """The true dynamics of one of oocdm's worlds, which bound what a learned one can achieve.

    `task` is the world's own unless another is given.

    >>> import oocdm
    >>> env = oocdm.make("mouse")
    >>> data = oocdm.collect(env, steps=50, seed=0).transitions(slice(0, 50))
    >>> simulator = WorldSimulator(env)
    >>> simulator.reward(data.before, simulator.step(data.before, seed=0)).shape
    torch.Size([50])
    """

    def __init__(self, world: World, task: Task | None = None) -> None:
        self.world = world_of("WorldSimulator", world, PlanError)
        chosen = self.world.task if task is None else task
        if chosen is None:
            raise PlanError(
                f"WorldSimulator: expected a world with a task, got {type(self.world).__name__} "
                "without one. Give it one: WorldSimulator(world, task=oocdm.Task(...))."
            )
        chosen.check(self.schema)
        self.task = chosen

    @property
    def schema(self) -> Schema:
        """The classes and fields of the world."""
        return self.world.schema

    def step(self, before: Snapshot, seed: int) -> Snapshot:
        """One step of every row as the world would take it."""
        schema = self.schema
        actions = {
            c: {f: v for f, v in fields.items() if schema.field(c, f).action}
            for c, fields in before.values.items()
        }
        state = to_world_state(before)
        after, _, _ = self.world.step(state, to_arrays(actions), np.random.default_rng(seed))
        later = to_snapshot(schema, after).to(before.device)
        self.task.check_absent(before, later)
        return later

    def reward(self, before: Snapshot, after: Snapshot) -> Tensor:
        """The task's reward."""
        return self.task.reward(before, after)

    def terminated(self, after: Snapshot) -> Tensor:
        """The task's termination."""
        return self.task.terminated(after)
