"""The largest and smallest values among the other objects."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.graph import ClassEdges
from oocdm.models.features import comparable, is_known
from oocdm.models.oocdm.first_layer import FirstLayer
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts.part import (
    AbstractLinear,
    AbstractPart,
    Alone,
    Place,
    Seen,
    SeenByTarget,
    Target,
)
from oocdm.models.oocdm.view import View
from oocdm.models.scales import as_numbers, moments


@dataclass(frozen=True)
class Column:
    """One feature: a component of a source field, the largest or the smallest, or less one's own.

    It may enter a prediction only if the global edge from the source field is in the graph and,
    for a difference, also the local edge from the own field of the same name.
    """

    source_class: str
    source_field: str
    is_difference: bool


class AbstractExtremes(AbstractPart):
    """Maxima and minima of numeric fields over the other objects, alone and less one's own."""

    name: ClassVar[str] = "extremes"
    scale: Tensor  # (2, column): mean and standard deviation

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        schema, c = place.schema, place.class_name
        self.columns = [
            Column(k, f, is_difference)
            for k in schema.classes
            for f, field in schema.fields(k).items()
            if field.is_numeric
            for is_difference in ((False, True) if f in comparable(schema, k, c) else (False,))
            for _ in range(2 * field.size)  # largest, then smallest
        ]
        self.width = len(self.columns)
        unit = torch.stack([torch.zeros(self.width), torch.ones(self.width)])
        self.register_buffer("scale", unit)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The fields of others that have columns, in order."""
        return list(dict.fromkeys((x.source_class, x.source_field) for x in self.columns))

    def at(self, k: str, f: str) -> slice:
        """Where the columns of one field of the others stand."""
        names = [(x.source_class, x.source_field) for x in self.columns]
        start = names.index((k, f))
        return slice(start, start + names.count((k, f)))

    def measure(self, data: Transitions) -> None:
        if not self.width:
            return
        columns = self.over_all(data.before, torch.float64).nan_to_num_(nan=0.0)
        mean, sd = moments(columns[data.before.present[self.c]], self.width)
        self.scale.copy_(torch.stack([mean, torch.where(sd > 0, sd, self._units_of_fields())]))

    def _units_of_fields(self) -> Tensor:
        """The spread of each column's field: what to measure a column in that never varies."""
        units = []
        for k, f in self.fields:
            unit, at = self.place.featuriser.scales[k].of_value(f)[1], self.at(k, f)
            units.append(unit.repeat((at.stop - at.start) // len(unit)))
        return torch.cat(units)

    def over_all(self, before: Snapshot, dtype: torch.dtype) -> Tensor:
        """All columns, over all senders: (batch, object, column); NaN where there is none."""
        present = before.present[self.c]
        if not self.width:
            return torch.zeros(*present.shape, 0, dtype=dtype, device=present.device)
        parts = []
        for k, f in self.fields:
            field = self.place.schema.field(k, f)
            theirs = as_numbers(field, before.values[k][f], dtype)
            theirs = theirs.masked_fill(~is_known(before, k, f).unsqueeze(-1), torch.nan)
            own = None
            if f in comparable(self.place.schema, k, self.c):
                own = as_numbers(field, before.values[self.c][f], dtype)
                own = own.masked_fill(~is_known(before, self.c, f).unsqueeze(-1), torch.nan)
            ends = largest_and_smallest(theirs, k == self.c)
            parts.append(_columns(ends, own, present.shape[1]))
        return torch.cat(parts, dim=-1)

    def allowed(self, masks: Masks) -> Tensor:
        """Which columns edges allow, 0 or 1: (structure, target, column)."""
        structures = masks.structures
        sources, owns = (places.to(structures.device) for places in self._edges)
        return structures[:, sources] * torch.where(owns >= 0, structures[:, owns], 1.0)

    @cached_property
    def _edges(self) -> tuple[Tensor, Tensor]:
        """Places of the edges that each column needs: (target, column) each.

        First the global edge from its source; then the local one of a difference, else -1.
        """
        schema, edges = self.place.schema, ClassEdges.of(self.place.schema)
        places, own = np.arange(len(edges)), list(schema.fields(self.c))
        local = edges.local_block(places, self.c)
        found = np.full((2, local.shape[1], self.width), -1)
        for i, column in enumerate(self.columns):
            k, f = column.source_class, column.source_field
            found[0, :, i] = edges.global_block(places, k, self.c)[list(schema.fields(k)).index(f)]
            if column.is_difference:
                found[1, :, i] = local[own.index(f)]
        sources, owns = torch.as_tensor(found)
        return sources, owns


class Extremes(AbstractExtremes, AbstractLinear):
    """The same among all other objects: no weights are needed for them."""

    @classmethod
    def is_used(cls, options: ModelOptions) -> bool:
        return options.enrich and not options.has_openness

    def observe(self, before: Snapshot, dtype: torch.dtype) -> dict[tuple[str, ...], Tensor]:
        return {(self.name, self.c): self._in_units(before, dtype)}

    def _in_units(self, before: Snapshot, dtype: torch.dtype) -> Tensor:
        columns = self.over_all(before, dtype)
        return columns.sub_(self.scale[0]).div_(self.scale[1]).nan_to_num_(nan=0.0)

    # ---------------------------------------------------------------- forms

    def literal(self, i: int, seen: SeenByTarget) -> Tensor:
        columns = seen.inputs.extra[self.name, self.c]
        masks = []
        for column in self.columns:
            mask = seen.edges[column.source_class][column.source_field]
            masks.append(mask * seen.local[column.source_field] if column.is_difference else mask)
        return columns * torch.cat(masks, dim=2) if masks else columns

    def rows(self, seen: Seen) -> Tensor:
        return seen.inputs.extra[self.name, self.c]

    def weigh(self, layer: FirstLayer, masks: Masks) -> tuple[Tensor, Tensor | None]:
        allowed = self.allowed(masks).transpose(1, 2).unsqueeze(-1)
        return (layer.weight().permute(1, 2, 0, 3) * allowed).flatten(2), None

    def alone(self, target: Target, layer: FirstLayer) -> Alone | None:
        allowed = self.allowed(target.masks)[0, target.i].unsqueeze(1)
        # What is not allowed has no weight.
        weight = layer.weight()[0, 0] * allowed
        used = [
            (k, f)
            for k, f in self.fields
            if f in target.others.get(k, ()) and bool(allowed[self.at(k, f)].any())
        ]
        if not used:
            return None
        weight = torch.cat([weight[self.at(k, f)] for k, f in used])
        units = {each: self.scale[:, self.at(*each)] for each in used}

        def add(first: Tensor, own: Tensor, view: View) -> None:
            columns = [self._of_view(k, f, view, units[k, f]) for k, f in used]
            first.addmm_(torch.cat(columns, dim=-1).flatten(0, 1), weight)

        nothing = weight.new_zeros(self.place.widths[self.c], 0)
        return Alone(nothing, nothing[0], add)

    def _of_view(self, k: str, f: str, view: View, units: Tensor) -> Tensor:
        """The columns of one field of the others, made once: (batch, object, column)."""
        return view.once((self.name, self.c, k, f), lambda: self._make(k, f, view, units))

    def _make(self, k: str, f: str, view: View, units: Tensor) -> Tensor:
        present = view.now.present
        all_known = view.absent(k) is None and view.absent(self.c) is None
        theirs = view.numbers(k, f).unflatten(0, present[k].shape)
        own = None
        if f in comparable(self.place.schema, k, self.c):
            own = view.numbers(self.c, f).unflatten(0, present[self.c].shape)
        if not all_known:
            theirs = theirs.masked_fill(~present[k].unsqueeze(-1), torch.nan)
            own = (
                None if own is None else own.masked_fill(~present[self.c].unsqueeze(-1), torch.nan)
            )
        of_others = k == self.c
        ends = view.once(
            ("ends", k, f, of_others),
            lambda: largest_and_smallest(theirs, of_others, all_known),
        )
        columns = _columns(ends, own, present[self.c].shape[1])
        columns.sub_(units[0]).div_(units[1])
        return (
            columns if all_known and theirs.shape[1] > of_others else columns.nan_to_num_(nan=0.0)
        )


def _columns(ends: tuple[Tensor, Tensor], own: Tensor | None, objects: int) -> Tensor:
    """Largest and smallest, then less one's own if there is such: (batch, object, column)."""
    high, low = ends
    parts = [high, low] if own is None else [high, low, high - own, low - own]
    return torch.cat([part.expand(-1, objects, -1) for part in parts], dim=-1)


def largest_and_smallest(
    numbers: Tensor, of_others: bool, all_known: bool = False
) -> tuple[Tensor, Tensor]:
    """Of numbers (batch, object, component), NaN if unknown, along the objects.

    Over all objects, (batch, 1, component) each, or for each object over all others, (batch,
    object, component) each; NaN where there is none.

    >>> ends = largest_and_smallest(torch.tensor([[[1.0], [4.0], [2.0]]]), of_others=True)
    >>> ends[0].flatten().tolist(), ends[1].flatten().tolist()
    ([4.0, 2.0, 4.0], [2.0, 1.0, 1.0])
    """
    batch, objects, size = numbers.shape
    if objects - of_others <= 0:
        none = numbers.new_full((batch, objects if of_others else 1, size), torch.nan)
        return none, none
    if all_known and not of_others:
        low, high = numbers.aminmax(dim=1, keepdim=True)
        return high, low
    return _top(numbers, of_others, all_known), -_top(-numbers, of_others, all_known)


def _top(numbers: Tensor, of_others: bool, all_known: bool) -> Tensor:
    if not all_known:
        numbers = numbers.nan_to_num(nan=-torch.inf)
    if of_others:
        # The largest of all others is the second largest for the largest.
        first, second = numbers.topk(2, dim=1).values.split(1, dim=1)
        top = torch.where(numbers == first, second, first)
    else:
        top = numbers.amax(1, keepdim=True)
    return top if all_known else top.masked_fill(top == -torch.inf, torch.nan)
