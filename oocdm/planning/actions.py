"""The variables that a planner chooses: one a component of an action of an object that can act."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from oocdm.data.snapshot import PerField, Snapshot
from oocdm.errors import PlanError, suggest
from oocdm.reading import read
from oocdm.schema import Boolean, Categorical, Field, Integer, Schema

Masks = Mapping[str, Tensor]  # (batch, object) booleans a class
_EXACT = 2**24  # single precision has all whole numbers up to this
SizeOf = Callable[[str, str], Tensor]  # from class and field to (component,)
Grids = Mapping[tuple[str, str], Tensor]  # (batch, object, component) of variables, -1 for none


@dataclass(frozen=True)
class ActionVariables:
    """All action variables of a batch of worlds in one flat axis, numbers before choices.

    Only objects that act have any, so nothing else can influence a plan: neither padding nor
    the dead. `world` (variable,) says to which row of the batch a variable belongs; `grids` say
    where each stands among the objects; `low`, `high` (infinite if open), `is_whole` and `size`
    (how far from 0 they usually are, 1 if nobody knows) describe the numbers (Real and Integer),
    `num_values` the choices (Categorical and Boolean). `idle` (batch, object, 1) is what objects
    do that do not act, for fields that do not allow 0.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(-1.0, 1.0, shape=(2,), action=True)
    ...     hop = Boolean(action=True)
    >>> state = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(1, 3)}})
    >>> can_act = {"Ball": torch.tensor([[True, False, True]])}
    >>> variables = ActionVariables.of(state, can_act)
    >>> variables.num_numbers, variables.num_choices
    (4, 2)
    >>> variables.decode(torch.ones(1, 6))["Ball"]["hop"]
    tensor([[1, 0, 1]])
    """

    schema: Schema
    batch_size: int
    grids: Grids
    world: Tensor
    low: Tensor
    high: Tensor
    is_whole: Tensor
    size: Tensor
    num_values: Tensor
    idle: Grids

    @staticmethod
    def of(
        state: Snapshot, can_act: Masks | None = None, size_of: SizeOf | None = None
    ) -> ActionVariables:
        """The variables of the objects that are present and, if it is said, can act.

        `size_of` tells how large the actions of a field usually are, (component,).
        """
        acting = acting_objects(state, can_act)
        fields = sorted(action_fields(state.schema), key=lambda item: is_choice(item[2]))
        if not fields:
            raise PlanError(
                f"{state.schema}: expected at least one action field, got none, so there is "
                "nothing to plan. Declare what can be chosen, such as push = Real(action=True)."
            )
        grids, idle, worlds, described, sizes, count = {}, {}, [], [], [], 0
        for c, f, field in fields:
            mask = acting[c].unsqueeze(-1).expand(-1, -1, field.size)
            world = mask.nonzero()[:, 0]
            grid = torch.full_like(mask, -1, dtype=torch.long)
            grid[mask] = torch.arange(count, count + len(world), device=grid.device)
            grids[c, f], count = grid, count + len(world)
            worlds.append(world)
            described.append((field, len(world)))
            if not is_choice(field):
                usual = torch.ones(field.size) if size_of is None else size_of(c, f)
                sizes.append(usual.to(world.device).repeat(len(world) // field.size))
            if idle_value(field) != 0:
                idle[c, f] = (state.present[c] * idle_value(field)).unsqueeze(-1)
        device = worlds[0].device
        numbers = [(field, n) for field, n in described if not is_choice(field)]
        choices = [(field, n) for field, n in described if is_choice(field)]
        return ActionVariables(
            state.schema,
            state.batch_size,
            grids,
            torch.cat(worlds),
            _repeat([(-np.inf if f.low is None else f.low, n) for f, n in numbers], device),
            _repeat([(np.inf if f.high is None else f.high, n) for f, n in numbers], device),
            _repeat([(isinstance(f, Integer), n) for f, n in numbers], device).bool(),
            torch.cat([torch.zeros(0, device=device), *sizes]),
            _repeat([(f.num_codes, n) for f, n in choices], device).long(),
            idle,
        )

    @property
    def num_variables(self) -> int:
        """How many variables there are."""
        return len(self.world)

    @property
    def num_numbers(self) -> int:
        """How many of them are numbers; they come first."""
        return len(self.low)

    @property
    def num_choices(self) -> int:
        """How many of them are choices among values; they come last."""
        return len(self.num_values)

    @property
    def max_values(self) -> int:
        """The largest number of values of a choice, whether or not one that has it acts now."""
        fields = (field for _, _, field in action_fields(self.schema) if is_choice(field))
        return max((field.num_codes for field in fields), default=0)

    def decode(self, values: Tensor) -> dict[str, dict[str, Tensor]]:
        """Values (sample, variable) as actions (sample * batch, object, ...) a field.

        Rows are sample by sample, each with the whole batch. Objects that do not act have 0 or, if
        they are present and that is not allowed, the allowed value nearest to it.
        """
        # The grids' -1 picks the last column.
        padded = torch.cat([values, values.new_zeros(len(values), 1)], 1)
        actions: dict[str, dict[str, Tensor]] = {}
        for (c, f), grid in self.grids.items():
            field = self.schema.field(c, f)
            dtype = torch.float32 if field.is_real else torch.int64
            chosen = padded[:, grid]
            if (c, f) in self.idle:
                chosen = torch.where(grid >= 0, chosen, self.idle[c, f])
            rows = chosen.flatten(0, 1).to(dtype)
            if isinstance(field, Integer):
                rows = _whole_numbers(field, rows)
            actions.setdefault(c, {})[f] = rows.reshape(*rows.shape[:2], *field.shape)
        return actions

    def with_newcomers(self, actions: PerField, present: Masks, first: int = 0) -> PerField:
        """Decoded actions, from row `first` on, with those of objects that were not there at first.

        Nobody chooses for them: they do the allowed value nearest to 0.
        """
        filled = {c: dict(fields) for c, fields in actions.items()}
        for (c, f), grid in self.grids.items():
            field, value = self.schema.field(c, f), actions[c][f]
            worlds = torch.arange(first, first + len(value), device=grid.device) % len(grid)
            acts = (grid >= 0).all(-1)[worlds]
            if idle_value(field) != 0 and acts.shape == present[c].shape:
                is_new = (present[c] & ~acts).view(*acts.shape, *[1] * len(field.shape))
                filled[c][f] = value.masked_fill(is_new, idle_value(field))
        return filled


def _whole_numbers(field: Integer, numbers: Tensor) -> Tensor:
    """Numbers that a field allows, or 0: single precision may have rounded large ones too far."""
    low, high = (None if end is None else int(end) for end in (field.low, field.high))
    if max(abs(low or 0), abs(high or 0)) < _EXACT:
        return numbers
    return torch.where(numbers == 0, 0, numbers.clamp(low, high))


def action_fields(schema: Schema) -> Iterator[tuple[str, str, Field]]:
    """Class name, field name and field of every action.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(action=True)
    >>> [(c, f) for c, f, _ in action_fields(Schema(Ball))]
    [('Ball', 'push')]
    """
    for c in schema.classes:
        for f, field in schema.fields(c).items():
            if field.action:
                yield c, f, field


def is_choice(field: Field) -> bool:
    """Whether values of a field have no order, so that a planner thinks in probabilities.

    >>> is_choice(Boolean()), is_choice(Integer(0, 1))
    (True, False)
    """
    return isinstance(field, Categorical | Boolean)


def idle_value(field: Field) -> float:
    """What an object does that is present but cannot act: the allowed value nearest to 0.

    >>> idle_value(Integer(2, 5)), idle_value(Boolean())
    (2.0, 0.0)
    """
    return float(field.clip(np.zeros(())))


def acting_objects(state: Snapshot, can_act: Masks | None = None) -> dict[str, Tensor]:
    """Which objects act, (batch, object) a class: those present that can, all unless it is said.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> state = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(1, 3)}})
    >>> acting_objects(state, {"Ball": torch.tensor([[True, False, True]])})
    {'Ball': tensor([[ True, False,  True]])}
    """
    acting = dict(state.present)
    masks = read(Mapping[str, Any] | None, can_act, "can_act", PlanError)
    for name, mask in (masks or {}).items():
        if name not in acting:
            raise PlanError(f"can_act: unknown class `{name}`. {suggest(name, acting)}")
        expected, given = tuple(acting[name].shape), torch.as_tensor(mask)
        if tuple(given.shape) != expected or given.dtype != torch.bool:
            raise PlanError(
                f"can_act[{name!r}]: expected booleans of shape {expected} (batch, object), got "
                f"{given.dtype} of shape {tuple(given.shape)}. Say of every row of the state's "
                f"`{name}` whether it can act."
            )
        acting[name] = acting[name] & given.to(acting[name].device)
    return acting


def _repeat(counts: list[tuple[float, int]], device: torch.device) -> Tensor:
    """Each number so many times."""
    numbers = torch.tensor([number for number, _ in counts], dtype=torch.float32)
    times = torch.tensor([n for _, n in counts], dtype=torch.long)
    return numbers.repeat_interleave(times).to(device)
