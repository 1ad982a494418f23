"""The largest and smallest values among the objects that one is open to."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.models.features import comparable, is_known
from oocdm.models.oocdm.first_layer import FirstLayer
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts.extremes import AbstractExtremes
from oocdm.models.oocdm.parts.part import (
    AbstractGathered,
    Alone,
    Gather,
    GatherNeighbours,
    Seen,
    SeenByTarget,
    Target,
)
from oocdm.models.oocdm.turns import Turns
from oocdm.models.oocdm.view import View
from oocdm.models.scales import as_numbers


class OpenExtremes(AbstractExtremes, AbstractGathered):
    """Maxima and minima where each target hears some senders better than others.

    What the largest of all is tells nothing of the largest among some. So of each value something
    is taken off before values are compared: a share of how far apart the senders are, the square of
    the logarithm of the openness. Where that is 1 it is nothing, and from 1/e on a sender can never
    be the largest, however large values are.
    """

    knows_receivers = True

    @classmethod
    def is_used(cls, options: ModelOptions) -> bool:
        return options.enrich and options.has_openness

    def observe(self, before: Snapshot, dtype: torch.dtype) -> dict[tuple[str, ...], Tensor]:
        """Numbers of all fields of each class, NaN if unknown: (batch, object, component)."""
        return {
            (self.name, k): torch.cat([_numbers(before, k, f, dtype) for f in fields], dim=-1)
            for k, fields in self._numeric.items()
        }

    @property
    def _numeric(self) -> dict[str, list[str]]:
        """The numeric fields of the classes that have any."""
        classes = self.place.schema.classes
        found = {
            k: [f for f, field in self.place.schema.fields(k).items() if field.is_numeric]
            for k in classes
        }
        return {k: fields for k, fields in found.items() if fields}

    def _part(self, k: str, f: str) -> slice:
        """Where the components of a field stand among those of its class."""
        start = 0
        for other in self._numeric[k]:
            size = self.place.schema.field(k, other).size
            if other == f:
                return slice(start, start + size)
            start += size
        raise KeyError(f)

    # ---------------------------------------------------------------- literal

    def literal(self, i: int, seen: SeenByTarget) -> Tensor:
        present = seen.inputs.present[self.c]
        if not self.width:
            return seen.own.new_zeros(*present.shape, 0)
        found = []
        for k, f in self.fields:
            mask = seen.edges[k][f]
            openness = self.openness_literally(i, k, seen)
            assert openness is not None
            theirs = seen.inputs.extra[self.name, k][..., self._part(k, f)]
            counts = seen.allowed[k].unsqueeze(-1) & ~theirs.isnan().unsqueeze(1)
            ends = _ends(theirs.nan_to_num(nan=0.0).unsqueeze(1), openness, counts)
            own = None
            if f in comparable(self.place.schema, k, self.c):
                own = seen.inputs.extra[self.name, self.c][..., self._part(self.c, f)]
            columns = self._columns(k, f, ends, own) * mask
            if own is not None:
                half = columns.shape[-1] // 2
                columns = torch.cat([columns[..., :half], columns[..., half:] * seen.local[f]], -1)
            found.append(columns)
        return torch.cat(found, dim=-1)

    # ---------------------------------------------------------------- under structures

    def compose(self, masks: Masks) -> Gather | None:
        allowed = self.allowed(masks)
        if not bool((allowed > 0).any()):
            return None

        def gather(seen: Seen) -> Tensor:
            found = self._gather(seen, allowed)
            return found * masks.spread(allowed, seen.inputs.batch_size).unsqueeze(1)

        return gather

    def compose_neighbours(self, turns: Turns) -> GatherNeighbours:
        allowed = self.allowed(turns.masks)
        by_target = allowed.transpose(0, 1)[:, :, None, None]  # (target, structure, 1, 1, column)

        def gather_all(seen: Seen) -> Tensor:
            found = self._gather(seen, allowed).permute(2, 0, 1, 3).unsqueeze(1)
            return found * by_target

        return gather_all

    def _gather(self, seen: Seen, allowed: Tensor) -> Tensor:
        """All columns, (batch, receiver, target, column), 0 where no structure allows any."""
        batch, receivers = len(seen.own(self.c)), seen.own(self.c).shape[1]
        targets, found = self.place.num_targets, []
        openness: dict[str, Tensor] = {}
        for k, f in self.fields:
            at = self.at(k, f)
            theirs = seen.inputs.extra[self.name, k][..., self._part(k, f)]
            if not theirs.shape[1] or not bool((allowed[..., at] > 0).any()):
                width = at.stop - at.start
                found.append(theirs.new_zeros(batch, receivers, targets, width))
                continue
            if k not in openness:
                log_open = self.openness(k, seen)
                assert log_open is not None
                openness[k] = log_open.transpose(2, 3)  # (1 or batch, receiver, target, sender)
            counts = seen.inputs.others(k, self.c)[:, :, None, :, None]
            counts = counts & ~theirs.isnan()[:, None, None]
            ends = _ends(theirs.nan_to_num(nan=0.0)[:, None, None], openness[k], counts)
            own = None
            if f in comparable(self.place.schema, k, self.c):
                own = seen.inputs.extra[self.name, self.c][..., self._part(self.c, f)]
                own = seen.inputs.received(self.c, own).unsqueeze(2)
            found.append(self._columns(k, f, ends, own))
        return torch.cat(found, dim=-1)

    def _columns(self, k: str, f: str, ends: tuple[Tensor, Tensor], own: Tensor | None) -> Tensor:
        """Largest and smallest, then less one's own if there is such, in units; 0 if unknown."""
        high, low = ends
        parts = [high, low] if own is None else [high, low, high - own, low - own]
        mean, sd = self.scale[:, self.at(k, f)]
        columns = torch.cat(parts, dim=-1)
        # Before any arithmetic: an infinity would make gradients NaN.
        is_there = columns.isfinite()
        return torch.where(is_there, (columns.where(is_there, mean) - mean) / sd, 0.0)

    # ---------------------------------------------------------------- a single target

    def alone(self, target: Target, layer: FirstLayer) -> Alone | None:
        allowed = self.allowed(target.masks)[0, target.i].unsqueeze(1)
        weight = layer.weight()[0, 0] * allowed
        used = [
            (k, f)
            for k, f in self.fields
            if f in target.others.get(k, ()) and bool(allowed[self.at(k, f)].any())
        ]
        if not used:
            return None
        weight = torch.cat([weight[self.at(k, f)] for k, f in used])
        openness = {k: self.openness_of(target.i, k) for k, _ in used}

        def add(first: Tensor, own: Tensor, view: View) -> None:
            columns = [self._of_view(k, f, view, openness[k]) for k, f in used]
            first.addmm_(torch.cat(columns, dim=-1).flatten(0, 1), weight)

        nothing = weight.new_zeros(self.place.widths[self.c], 0)
        return Alone(nothing, nothing[0], add)

    def _of_view(
        self, k: str, f: str, view: View, openness: Callable[[View], Tensor] | None
    ) -> Tensor:
        assert openness is not None
        present, at = view.now.present, self.at(k, f)
        theirs = view.numbers(k, f).unflatten(0, present[k].shape)
        if not theirs.shape[1]:
            return theirs.new_zeros(*present[self.c].shape, at.stop - at.start)
        counts = present[k].unsqueeze(1)
        if k == self.c:
            counts = counts & ~torch.eye(counts.shape[2], dtype=torch.bool, device=counts.device)
        ends = _ends(theirs.unsqueeze(1), openness(view), counts.unsqueeze(-1))
        own = None
        if f in comparable(self.place.schema, k, self.c):
            own = view.numbers(self.c, f).unflatten(0, present[self.c].shape)
        return self._columns(k, f, ends, own)


def _numbers(before: Snapshot, c: str, f: str, dtype: torch.dtype) -> Tensor:
    numbers = as_numbers(before.schema.field(c, f), before.values[c][f], dtype)
    return numbers.masked_fill(~is_known(before, c, f).unsqueeze(-1), torch.nan)


def _ends(numbers: Tensor, log_open: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Largest and smallest over the senders, the last axis but one; infinite where there is none.

    `counts` tells who is there, `log_open` (.., sender) is the logarithm of how open one is to
    each: its square is taken off, in units of how far apart the senders are.
    """
    if not numbers.shape[-2]:
        shape = torch.broadcast_shapes(log_open.shape[:-1], counts.shape[:-2])
        none = numbers.new_full((*shape, numbers.shape[-1]), torch.inf)
        return -none, none
    high, low = (x.masked_fill(~counts, -torch.inf) for x in (numbers, -numbers))
    span = (high.amax(-2) + low.amax(-2)).nan_to_num(neginf=0.0)
    off = log_open.square().unsqueeze(-1) * span.unsqueeze(-2)
    return (high - off).amax(-2), -(low - off).amax(-2)
