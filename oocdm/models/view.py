"""What the predictors of single targets read of a state, each piece made when first asked for."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor
from torch.nn import functional

from oocdm.data.snapshot import Snapshot
from oocdm.models.composed import LEAK
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


class View:
    """One snapshot as targets see it; all its values are known."""

    def __init__(self, model: AbstractClassModel, dtype: torch.dtype, now: Snapshot) -> None:
        self.model, self.dtype, self.now = model, dtype, now
        self._codes: dict[FieldName, Tensor] = {}
        self._encodings: dict[FieldName, Tensor] = {}
        self._equal: dict[tuple[str, str, str], Tensor] = {}
        self._extremes: dict[tuple[str, str, str], Tensor] = {}
        self._absent: dict[str, Tensor | None] = {}

    def code(self, c: str, f: str) -> Tensor:
        """A number for each value of a field that has few: (batch * object,)."""
        if (c, f) not in self._codes:
            self._codes[c, f] = _code(self.model.schema.field(c, f), self.now.values[c][f])
        return self._codes[c, f]

    def encoded(self, c: str, f: str) -> Tensor:
        """Encodings of a field: (batch * object, channel)."""
        if (c, f) not in self._encodings:
            self._encodings[c, f] = encode(self.model, c, f, self.now.values[c][f], self.dtype)
        return self._encodings[c, f]

    def numbers(self, c: str, f: str) -> Tensor:
        """The values of a field: (batch * object, component)."""
        field = self.model.schema.field(c, f)
        return as_numbers(field, self.now.values[c][f], self.dtype).flatten(0, 1)

    def equal(self, k: str, c: str, f: str) -> Tensor:
        """Where objects have the same value as others, 0 or 1: (batch, object, other object)."""
        if (k, c, f) not in self._equal:
            same = are_equal(self.now.values[c][f], self.now.values[k][f])
            self._equal[k, c, f] = same.to(self.dtype)
        return self._equal[k, c, f]

    def extremes(self, k: str, f: str, c: str) -> Tensor:
        """The extremes of one field among the others: (batch * object, column)."""
        if (k, f, c) not in self._extremes:
            found = self.model.featuriser.extremes_of(self.now, k, f, c, self.dtype)
            self._extremes[k, f, c] = found.flatten(0, 1)
        return self._extremes[k, f, c]

    def absent(self, c: str) -> Tensor | None:
        """Which rows are no objects, (batch, object); None if all are."""
        if c not in self._absent:
            present = self.now.present[c]
            self._absent[c] = None if bool(present.all()) else ~present
        return self._absent[c]


def encode(model: AbstractClassModel, c: str, f: str, values: Tensor, dtype: torch.dtype) -> Tensor:
    """Known values (batch, object, *shape) of a field encoded: (batch * object, channel)."""
    p, i = model.encoder(c), list(model.schema.fields(c)).index(f)
    x = model.featuriser.encode(c, f, values, dtype).flatten(0, 1)
    # Weights beyond are for padding, and for an input that says that a value is unknown.
    hidden = torch.addmm(p.hidden_bias[i], x, p.hidden_weight[i, : x.shape[1]])
    code = torch.addmm(p.bias[i], functional.leaky_relu_(hidden, LEAK), p.weight[i]).relu_()
    return (
        torch.cat([code, x[:, : model.featuriser.raw_width[c]]], 1)
        if model.options.enrich
        else code
    )


def _code(field: Field, values: Tensor) -> Tensor:
    low, n = int(field.low or 0), field.num_values or 1
    # Rows that are no objects hold 0, which need not be a value.
    parts = (values - low if low else values).clamp(0, n - 1).flatten(0, 1).long()
    if field.shape == ():
        return parts
    parts = parts.flatten(1)
    index = parts[:, 0]
    for i in range(1, field.size):
        index = index * n + parts[:, i]
    return index
