"""The true dynamics of a world, as a planner sees them."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.schema import Schema
from oocdm.task import Task
from oocdm.worlds.convert import to_arrays, to_snapshot, to_world_state
from oocdm.worlds.world import World, world_of


class TrueSimulator:
    """The true dynamics of one of oocdm's worlds, which bound what a learned one can achieve.

    `task` is the world's own unless another is given.

    >>> import oocdm
    >>> env = oocdm.make("mouse")
    >>> data = oocdm.collect(env, steps=50, seed=0).transitions(slice(0, 50))
    >>> simulator = TrueSimulator(env)
    >>> simulator.reward(data.before, simulator.step(data.before, seed=0)).shape
    torch.Size([50])
    """

    def __init__(self, world: World, task: Task | None = None) -> None:
        self.world = world_of("TrueSimulator", world, PlanError)
        chosen = self.world.task if task is None else task
        if chosen is None:
            raise PlanError(
                f"TrueSimulator: expected a world with a task, got {type(self.world).__name__} "
                "without one. Give it one: TrueSimulator(world, task=oocdm.Task(...))."
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
