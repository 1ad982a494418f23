"""One batch of a learning step: its loss, in as many parts as memory asks for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.methods.method import Term
from oocdm.models.features import Inputs
from oocdm.models.prepared import Kept, Prepared, Receivers, known_counts, mean_scores
from oocdm.models.world_model import AbstractWorldModel, Structures


def num_shares(terms: Sequence[Term]) -> int:
    """How many equal shares a batch has, so that those of each structure are the same number."""
    return math.lcm(*(len(term.structures) for term in terms))


@dataclass(frozen=True)
class Part:
    """Some rows of a batch: whole shares of it, or some rows of a single one."""

    rows: slice
    shares: slice


def parts_of(size: int, shares: int, at_once: int) -> Iterator[Part]:
    """The rows of a batch, divided evenly into shares, about so many at once.

    >>> for part in parts_of(size=12, shares=3, at_once=9):
    ...     print(part.rows, part.shares)
    slice(0, 8, None) slice(0, 2, None)
    slice(8, 12, None) slice(2, 3, None)
    """
    share = size // shares
    whole, rows = max(at_once // share, 1), min(at_once, share)
    for first in range(0, shares, whole):
        last = min(first + whole, shares)
        stop = last * share
        step = (stop - first * share) if rows == share else rows
        for start in range(first * share, stop, step):
            yield Part(slice(start, min(start + step, stop)), slice(first, last))


@dataclass(frozen=True)
class Batch:
    """Transitions, the structures that they are scored under, and the objects that are scored.

    Each term divides all transitions evenly, in order, among its structures. `hidden` are the
    states before, if the dataset's own are not to be read.
    """

    model: AbstractWorldModel
    data: Prepared
    terms: Sequence[Term]
    receivers: Receivers
    blur: Mapping[str, Tensor] | None = None
    hidden: Snapshot | None = None

    def __len__(self) -> int:
        return len(self.data)

    @cached_property
    def counts(self) -> dict[str, Tensor]:
        """How many values of each target are known in all of the batch."""
        return known_counts(self.data.targets)

    @property
    def num_bytes(self) -> int:
        """What the batch itself takes, beside all work on it."""
        source, tensors = self.data.source, []
        if self.hidden is not None:
            fields = (*self.hidden.values.values(), *self.hidden.observed.values())
            tensors = [t for each in fields for t in each.values()]
        kept = source.num_bytes if isinstance(source, Kept) else 0
        return kept + sum(t.nbytes for t in tensors)

    def backward(self, at_once: int, penalty: Tensor | None = None) -> Tensor:
        """Add the gradient of the loss to the parameters', some rows after the other; the loss."""
        parts = list(parts_of(len(self), num_shares(self.terms), at_once))
        structures = [self.model.rows(term.structures) for term in self.terms]
        leaves = structures
        if len(parts) > 1:
            # What structures were made from is gone through once, after all parts.
            leaves = [_leaf(s) for s in structures]
        total = torch.zeros((), device=self.model.device)
        for part in parts:
            loss = self._loss(part, leaves)
            if penalty is not None and part is parts[0]:
                loss = loss + penalty
            loss.backward()
            total = total + loss.detach()
            if len(parts) > 1:
                del loss
                self.data.budget.ceiling.hold()
        for given, leaf in zip(structures, leaves, strict=True):
            if leaf is not given and leaf.grad is not None:
                given.backward(leaf.grad)
        return total

    def backward_of_first(self, rows: int) -> None:
        """Add the gradient of the first rows alone: what that takes is a measure of the rest."""
        structures = [_leaf(self.model.rows(term.structures)) for term in self.terms]
        part = next(parts_of(len(self), num_shares(self.terms), rows))
        self._loss(part, structures).backward()

    def _loss(self, part: Part, structures: Sequence[Structures]) -> Tensor:
        """What a part contributes to the loss of the batch."""
        is_all = part.rows == slice(0, len(self))
        data = self.data if is_all else self.data.rows(part.rows)
        receivers = self.receivers.rows(part.rows)
        inputs, targets = receivers.of(data, self._inputs(part))
        loss = torch.zeros((), device=self.model.device)
        chosen = [s if is_all else self._structures_of(part, s) for s in structures]
        for term, predictions in zip(self.terms, self.model(inputs, *chosen), strict=True):
            scores = receivers.weigh(predictions.log_prob(targets, self.blur))
            loss = loss - term.weight * mean_scores(scores, self.counts).sum()
        return loss

    def _inputs(self, part: Part) -> Inputs | None:
        if self.hidden is None:
            return None
        return self.model.inputs(self.hidden.map(lambda t: t[part.rows]))

    def _structures_of(self, part: Part, structures: Structures) -> Structures:
        """Those that the shares of a part have."""
        shares = num_shares(self.terms)
        places = np.arange(shares)[part.shares] * len(structures) // shares
        return structures[places[:1] if places[0] == places[-1] else places]


def _leaf(structures: Structures) -> Structures:
    """The same, with gradients of its own that go no further."""
    return structures.detach().requires_grad_(structures.requires_grad)
