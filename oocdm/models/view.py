"""What the predictors of single targets read of a state, each piece made when first asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import partial

import torch
from torch import Tensor

from oocdm.data.derived import Derived, absent_rows
from oocdm.data.snapshot import Snapshot
from oocdm.models.encoding import FieldEncoder
from oocdm.models.features import are_equal, is_discrete
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


class Lasting:
    """What outlasts a view: later snapshots often have some of the very same tensors."""

    def __init__(self, model: AbstractClassModel) -> None:
        self.absent = Derived(absent_rows)
        self.codes = {
            (c, f): Derived(partial(_code, field))
            for c in model.schema.classes
            for f, field in model.schema.fields(c).items()
        }


class View:
    """One snapshot as targets see it; all its values are known."""

    def __init__(
        self,
        model: AbstractClassModel,
        dtype: torch.dtype,
        now: Snapshot,
        lasting: Lasting | None = None,
    ) -> None:
        """`lasting` is what earlier views left behind."""
        self.model, self.dtype, self.now = model, dtype, now
        self._lasting = Lasting(model) if lasting is None else lasting
        self._codes: dict[FieldName, Tensor] = {}
        self._encodings: dict[FieldName, Tensor] = {}
        self._equal: dict[tuple[str, str, str], Tensor] = {}
        self._extremes: dict[tuple[str, str, str], Tensor] = {}

    def code(self, c: str, f: str) -> Tensor:
        """A number for each value of a field that has few: (batch * object,)."""
        if (c, f) not in self._codes:
            self._codes[c, f] = self._lasting.codes[c, f](self.now.values[c][f])
        return self._codes[c, f]

    def encoded(self, encoder: FieldEncoder) -> Tensor:
        """Encodings of a field: (batch * object, channel)."""
        c, f = encoder.c, encoder.f
        if (c, f) not in self._encodings:
            self._encodings[c, f] = encoder(self.now.values[c][f], self.dtype)
        return self._encodings[c, f]

    def numbers(self, c: str, f: str) -> Tensor:
        """The values of a field: (batch * object, component)."""
        field = self.model.schema.field(c, f)
        values = self.now.values[c][f]
        return as_numbers(field, values, self.dtype).reshape(-1, field.size)

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

    def extremes(self, k: str, f: str, c: str) -> Tensor:
        """The extremes of one field among the others: (batch * object, column)."""
        if (k, f, c) not in self._extremes:
            found = self.model.featuriser.extremes_of(self.now, k, f, c, self.dtype)
            self._extremes[k, f, c] = found.flatten(0, 1)
        return self._extremes[k, f, c]

    def absent(self, c: str) -> Tensor | None:
        """Which rows are no objects, (batch, object); None if all are."""
        return self._lasting.absent(self.now.present[c])


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
