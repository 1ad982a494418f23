"""What the predictors of single targets read of a state, each piece made when first asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.models.encoding import FieldEncoder
from oocdm.models.features import are_equal, comparable, is_discrete
from oocdm.models.network import AbstractClassModel
from oocdm.models.scales import as_numbers
from oocdm.schema import Field

MOST_CODES = 4096  # what has more values than this is encoded when it comes

FieldName = tuple[str, str]


def num_codes(field: Field) -> int | None:
    """How many values a field has; None if they are not few enough to go through them all.

    >>> from oocdm.schema import Integer, Real
    >>> num_codes(Integer(0, 7, shape=(2,))), num_codes(Real())
    (64, None)
    """
    if not is_discrete(field):
        return None
    count = (field.num_values or 1) ** field.size
    return count if count <= MOST_CODES else None


def all_values(field: Field) -> Tensor:
    """All values of a field that has few, in the order of their codes: (value, *shape).

    >>> from oocdm.schema import Integer
    >>> all_values(Integer(2, 4)).tolist()
    [2, 3, 4]
    """
    low, n = int(field.low or 0), field.num_values or 1
    rows = list(itertools.product(range(low, low + n), repeat=field.size))
    return torch.tensor(rows).reshape(-1, *field.shape)


class View:
    """One snapshot as targets see it; all its values are known."""

    def __init__(self, model: AbstractClassModel, dtype: torch.dtype, now: Snapshot) -> None:
        self.model, self.dtype, self.now = model, dtype, now
        self._absent: dict[str, Tensor | None] = {}
        self._codes: dict[FieldName, Tensor] = {}
        self._encodings: dict[FieldName, Tensor] = {}
        self._equal: dict[tuple[str, str, str], Tensor] = {}
        self._extremes: dict[tuple[str, tuple[FieldName, ...]], Tensor] = {}
        self._numbers: dict[FieldName, Tensor] = {}
        self._ends: dict[tuple[FieldName, bool], tuple[Tensor, Tensor]] = {}

    def code(self, c: str, f: str) -> Tensor:
        """A number for each value of a field that has few: (batch * object,)."""
        if (c, f) not in self._codes:
            self._codes[c, f] = _code(self.model.schema.field(c, f), self.now.values[c][f])
        return self._codes[c, f]

    def encoded(self, encoder: FieldEncoder) -> Tensor:
        """Encodings of a field: (batch * object, channel)."""
        c, f = encoder.c, encoder.f
        if (c, f) not in self._encodings:
            self._encodings[c, f] = encoder(self.now.values[c][f], self.dtype)
        return self._encodings[c, f]

    def numbers(self, c: str, f: str) -> Tensor:
        """The values of a field: (batch * object, component)."""
        if (c, f) not in self._numbers:
            field, values = self.model.schema.field(c, f), self.now.values[c][f]
            numbers = as_numbers(field, values, self.dtype)
            self._numbers[c, f] = numbers.reshape(-1, field.size)
        return self._numbers[c, f]

    def equal(self, k: str, c: str, f: str) -> Tensor:
        """Where objects have the same value as others, 0 or 1: (batch, object, other object)."""
        if (k, c, f) not in self._equal:
            if (c, k, f) in self._equal:
                self._equal[k, c, f] = self._equal[c, k, f].transpose(1, 2)
            else:
                self._equal[k, c, f] = self._are_equal(k, c, f).to(self.dtype)
        return self._equal[k, c, f]

    def _are_equal(self, k: str, c: str, f: str) -> Tensor:
        ours, theirs = self.model.schema.field(c, f), self.model.schema.field(k, f)
        if num_codes(ours) is None or (ours.low, ours.high) != (theirs.low, theirs.high):
            return are_equal(self.now.values[c][f], self.now.values[k][f])
        # One number a value is less to compare than its components.
        batch, objects = self.now.present[c].shape
        others = self.now.present[k].shape[1]
        return self.code(c, f).view(batch, objects, 1) == self.code(k, f).view(batch, 1, others)

    def extremes(self, c: str, fields: tuple[FieldName, ...]) -> Tensor:
        """The extremes of some fields among the others: (batch * object, column)."""
        if (c, fields) not in self._extremes:
            featuriser = self.model.featuriser
            parts = [
                self._extremes_of_all(k, f, c)
                if self._has_all(k, c)
                else featuriser.extremes_of(self.now, k, f, c, self.dtype)
                for k, f in fields
            ]
            self._extremes[c, fields] = torch.cat(parts, dim=-1).flatten(0, 1)
        return self._extremes[c, fields]

    def _has_all(self, k: str, c: str) -> bool:
        """Whether no row is empty, so that every object has others of a class to look at."""
        others = self.now.present[k].shape[1] - (k == c)
        return others > 0 and self.absent(k) is None and self.absent(c) is None

    def _extremes_of_all(self, k: str, f: str, c: str) -> Tensor:
        """As the featuriser gives them, without masks: (batch, object, column)."""
        featuriser = self.model.featuriser
        batch, objects = self.now.present[c].shape
        high, low = self._ends_of(k, f, k == c)
        parts = [high, low]
        if f in comparable(self.model.schema, k, c):
            own = self.numbers(c, f).unflatten(0, (batch, objects))
            parts += [high - own, low - own]
        columns = torch.cat([part.expand(batch, objects, -1) for part in parts], dim=-1)
        if c not in featuriser.scales.extremes:
            return columns
        mean, sd = featuriser.scales.extremes[c][:, featuriser.extremes_at(k, f, c)].to(columns)
        return columns.sub_(mean).div_(sd)

    def _ends_of(self, k: str, f: str, without_oneself: bool) -> tuple[Tensor, Tensor]:
        """The largest and the smallest values: (batch, 1 or object, component) each."""
        key = ((k, f), without_oneself)
        if key not in self._ends:
            numbers = self.numbers(k, f).unflatten(0, self.now.present[k].shape)
            if without_oneself:
                self._ends[key] = _top_of_others(numbers), -_top_of_others(-numbers)
            else:
                low, high = numbers.aminmax(dim=1, keepdim=True)
                self._ends[key] = high, low
        return self._ends[key]

    def absent(self, c: str) -> Tensor | None:
        """Which rows are no objects, (batch, object); None if all are."""
        if c not in self._absent:
            self._absent[c] = self.now.absent(c)
        return self._absent[c]


def _top_of_others(numbers: Tensor) -> Tensor:
    """The largest of all others, along the second axis: the second largest for the largest."""
    first, second = numbers.topk(2, dim=1).values.split(1, dim=1)
    return torch.where(numbers == first, second, first)


def _code(field: Field, values: Tensor) -> Tensor:
    low, n = int(field.low or 0), field.num_values or 1
    # Rows that are no objects hold 0, which need not be a value.
    parts = (values - low if low else values).clamp(0, n - 1).flatten(0, 1).long()
    if field.shape == ():
        return parts
    parts = parts.flatten(1)
    return combine((part, n) for part in parts.unbind(1))


def combine(codes: Iterable[tuple[Tensor, int]]) -> Tensor:
    """One number for all combinations of codes, each given with how many values it has.

    >>> combine([(torch.tensor([0, 1]), 2), (torch.tensor([3, 4]), 5)])
    tensor([3, 9])
    """
    (index, _), *others = codes
    for code, count in others:
        index = torch.add(code, index, alpha=count)
    return index
