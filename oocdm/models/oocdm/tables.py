"""Targets whose parents have few values: predicted beforehand, for all of them."""

from __future__ import annotations

import math
from typing import final

import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.models.oocdm.single import Outputs, SingleTarget
from oocdm.models.oocdm.view import View, all_values, combine, num_all_codes

MOST_ROWS = 1 << 16  # larger tables cost more than they save


@final
class TabledTarget:
    """A single target that looks its answer up where it can.

    That is where all parents are fields of few values and every class that is heard has one
    object: then a prediction is one row of a table, made when it is first needed. Where objects
    differ, its own class must have one object, too.
    """

    def __init__(self, target: SingleTarget) -> None:
        self.field, self._target = target.field, target
        schema = target.schema
        own = [(target.c, f) for f in target.own]
        heard = [(k, f) for k, names in target.others.items() for f in names]
        self._parents = [(c, f, schema.field(c, f)) for c, f in own + heard]
        self._counts = [num_all_codes(field) or MOST_ROWS + 1 for _, _, field in self._parents]
        self._is_small = (
            math.prod(self._counts) <= MOST_ROWS
            and target.c not in target.others
            and not target.sees_all
        )
        self._table: Outputs | None = None

    def __call__(self, view: View) -> Outputs:
        """As the target itself."""
        if not (self._is_small and self._hears_one_each(view)):
            return self._target(view)
        if self._table is None:
            self._table = self._make(view)
        batch, objects = view.now.present[self._target.c].shape
        if not self._parents:
            device = self._table[0].device
            flat = torch.zeros(batch * objects, dtype=torch.long, device=device)
        else:
            codes = [view.code(c, f).view(view.now.present[c].shape) for c, f, _ in self._parents]
            index = combine(zip(codes, self._counts, strict=True))
            flat = index.expand(batch, objects).flatten()
        return tuple(column.index_select(0, flat) for column in self._table)

    def _hears_one_each(self, view: View) -> bool:
        own = self._target.c
        if view.identities and view.now.present[own].shape[1] != 1:
            return False
        return all(
            view.now.present[k].shape[1] == 1 and view.absent(k) is None
            for k in self._target.others
        )

    def _make(self, view: View) -> Outputs:
        """The outputs for all combinations of the parents' values, one world each."""
        device = view.now.device
        each = [all_values(field).to(device) for _, _, field in self._parents]
        size = math.prod(len(values) for values in each)
        schema, target = view.schema, self._target
        # What is not a parent is never looked at, but has to be there.
        values: dict[str, dict[str, Tensor]] = {
            c: {
                f: torch.zeros(size, 1, *field.shape, device=device)
                for f, field in schema.fields(c).items()
            }
            for c in (target.c, *target.others)
        }
        before, after = 1, size
        for (c, f, field), known in zip(self._parents, each, strict=True):
            after //= len(known)
            column = known.repeat_interleave(after, 0).repeat(before, *[1] * len(field.shape))
            values[c][f] = column.unsqueeze(1)
            before *= len(known)
        present = {c: torch.ones(size, 1, dtype=torch.bool, device=device) for c in values}
        observed = {c: dict.fromkeys(fields, present[c]) for c, fields in values.items()}
        states = Snapshot(schema, values, present, observed)
        found = target(View(view.encoders, view.dtype, states, view.identities))
        return tuple(column.contiguous() for column in found)
