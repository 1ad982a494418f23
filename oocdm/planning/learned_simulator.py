"""The learned world as a planner sees it."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import final

import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.graph import ClassGraph
from oocdm.inference import Dynamics, Fitted
from oocdm.inference.fitted import checked_result, prediction_graph
from oocdm.inference.random_numbers import Part
from oocdm.inference.tries import Tries
from oocdm.reading import Count, NotNegative, checked
from oocdm.schema import Schema
from oocdm.task import Task


@final
class LearnedSimulator:
    """Steps the learned world and asks a task what it is worth.

    With `horizon` only those fields are simulated that can reach what the task reads within so
    many steps, so planners may look no further; that the task reads nothing else is verified in
    every step, and that it does not depend on absent objects where there are such. With `caution`
    a step earns so much less for each usual change by which copies of the model are unsure of it,
    on average over the simulated fields: plans avoid what the model does not know.

    >>> import oocdm
    >>> env = oocdm.make("mouse")
    >>> data = oocdm.collect(env, steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, graph=env.true_graph, schedule=quick)
    >>> simulator = LearnedSimulator(result, env.task, horizon=20)
    >>> "Monster.noise" in simulator.dynamics.simulated
    False
    >>> before = data.transitions(slice(0, 5)).before
    >>> simulator.reward(before, simulator.step(before, seed=0)).shape
    torch.Size([5])
    """

    @checked(PlanError)
    def __init__(
        self,
        result: Fitted,
        task: Task,
        horizon: Count | None = None,
        caution: NotNegative = 0.0,
    ) -> None:
        if not isinstance(task, Task):
            raise PlanError(
                f"task: expected an oocdm.Task, got {type(task).__name__}. Use env.task of one of "
                "our environments, or make one: oocdm.Task(reward=..., terminated=..., reads=...)."
            )
        checked_result("LearnedSimulator", result)
        if caution and getattr(result, "copies", None) is None:
            raise PlanError(
                f"`caution`: expected 0 with a result without copies, got {caution}. Fit with "
                "copies, as a Schedule has them by default: they tell what is not known."
            )
        self.caution = caution
        task.check(result.model.schema)
        # What a graph of single variables leaves out differs from object to object.
        prunes = horizon is not None and isinstance(prediction_graph(result), ClassGraph)
        self.dynamics = Dynamics(result, task.reads if prunes else None, horizon)
        self.horizon = horizon if prunes else None
        self.task = task
        self._scale_of = result.model.scale
        self._reads_are_checked = not prunes
        self.measured: dict[Hashable, int] = {}
        self._tries: Tries | None = None
        self._part: Part | None = None
        self._absent_are_checked = False

    @property
    def schema(self) -> Schema:
        """The classes and fields of the world."""
        return self.dynamics.schema

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self.dynamics.device

    def action_size(self, class_name: str, field_name: str) -> Tensor:
        """How far from 0 an action was in the training data, the root of its mean square."""
        scale = self._scale_of(class_name, field_name)
        return torch.hypot(scale.value_mean, scale.value_sd)

    def step(self, before: Snapshot, seed: int | None) -> Snapshot:
        """One step of every row as the model believes it may go; without a seed, most likely."""
        if self._tries is None or seed is None:
            after = self.dynamics.step(before, seed)
        else:
            after = self._tries.step(before, seed, self._part)
        if not self._reads_are_checked:
            self.task.check_reads(before, after)
            self._reads_are_checked = True
        if not self._absent_are_checked:
            self.task.check_absent(before, after)
            # All steps of a plan have the same objects.
            self._absent_are_checked = self._tries is not None
        return after

    def begin_plan(self, seed: int, room: int | None = None) -> LearnedSimulator:
        """The same simulator for a single plan, with a cache of its own of so many bytes."""
        own = copy.copy(self)
        own._tries = Tries(self.dynamics, seed, room)
        return own

    def part(self, first: int, total: int) -> LearnedSimulator:
        """The same for the rows from `first` on of all that a plan tries, with the same cache."""
        own = copy.copy(self)
        own._part = Part(first, total)
        return own

    def reward(self, before: Snapshot, after: Snapshot) -> Tensor:
        """The task's reward, less what caution takes of it."""
        task = self.task
        earned = (task.reward if self.horizon is None else task.watched_reward)(before, after)
        doubt = self.dynamics.doubt(before) if self.caution else None
        return earned if doubt is None else earned - self.caution * doubt

    def terminated(self, after: Snapshot) -> Tensor:
        """The task's termination."""
        return self.task.terminated(after) if self.horizon is None else self.task.watched_end(after)
