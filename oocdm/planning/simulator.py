"""All that a planner sees of a world: a step of a batch, its reward, and whether it ended."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol, Self, runtime_checkable

from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.schema import Schema


class Simulator(Protocol):
    """What a planner asks of a world, learned or true; rows are independent of each other.

    Planners ask in `torch.inference_mode()`: no gradients are recorded, and tensors that are made
    here and kept cannot be changed in place later. A simulator may have two attributes more:
    `horizon`, the most steps that it can look ahead, and `device`, where it wants its states. And
    it may have two methods: `begin_plan(seed)` returns a simulator for a single plan: all its
    tries start from one state, and step `t` of each has the seed `seed + t`, so that it may keep
    what they share. `action_size(class_name, field_name)` tells how far from 0 the actions of a
    field usually are, (component,): planners look that far where the schema sets no bounds, else
    as far as 1. All tries are stepped at once unless it is a `DivisibleSimulator`.

    >>> import torch
    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(-1.0, 1.0, action=True)
    >>> class Pushing:
    ...     schema = Schema(Ball)
    ...     def step(self, before, seed):
    ...         x = before["Ball.x"] + before["Ball.push"]
    ...         return Snapshot.of(self.schema, {"Ball": {"x": x}}, before.present)
    ...     def reward(self, before, after):
    ...         return -after["Ball.x"].square().sum(1)
    ...     def terminated(self, after):
    ...         return after["Ball.x"].amax(1) > 9
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


@runtime_checkable
class DivisibleSimulator(Simulator, Protocol):
    """A simulator that steps the tries of a plan in parts, so that they stay within memory.

    `measured` is where planners note the bytes that its steps take.

    >>> import oocdm
    >>> from oocdm.planning import TrueSimulator
    >>> isinstance(TrueSimulator(oocdm.make("mouse")), DivisibleSimulator)
    False
    """

    measured: dict[Hashable, int]

    def begin_plan(self, seed: int, room: int | None = None) -> Self:
        """A simulator for a single plan that keeps at most so many bytes of what tries share."""
        ...

    def part(self, first: int, total: int) -> Self:
        """The same for the rows from `first` on of all that a plan tries, `total`.

        What is random in a row is as if all of them were stepped at once.
        """
        ...
