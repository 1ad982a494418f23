"""What the predictors of single targets read of a state, each piece made when first asked for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.models.features import are_equal
from oocdm.models.oocdm.identities import Tell
from oocdm.models.scales import as_numbers
from oocdm.schema import Field

MOST_CODES = 4096  # what has more values than this is encoded when it comes

# From the known values of a field, (batch, object, *shape), to encodings (row, channel).
FieldEncoders = Mapping[tuple[str, str], Callable[[Tensor], Tensor]]

Made = TypeVar("Made")


class View:
    """One snapshot as single targets see it; all its values are known."""

    def __init__(
        self,
        encoders: FieldEncoders,
        dtype: torch.dtype,
        now: Snapshot,
        identities: Mapping[str, Tell] | None = None,
    ) -> None:
        """Encoders are of single fields; `dtype` is that of the weights.

        `identities` say who the objects of each class are, if the model knows that.
        """
        self.encoders, self.dtype, self.now, self.schema = encoders, dtype, now, now.schema
        self.identities = identities or {}
        self._made: dict[tuple[object, ...], object] = {}

    def once(self, key: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """What was made under a key, or is made now."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]  # type: ignore[return-value]

    def code(self, c: str, f: str) -> Tensor:
        """A number for each value of a field that has few: (batch * object,)."""
        field, values = self.schema.field(c, f), self.now.values[c][f]
        return self.once(("code", c, f), lambda: _code(field, values))

    def encoded(self, c: str, f: str) -> Tensor:
        """Encodings of a field: (batch * object, channel)."""
        return self.once(("encoded", c, f), lambda: self.encoders[c, f](self.now.values[c][f]))

    def identity(self, c: str) -> Tensor:
        """Who the objects of a class are: (1 or batch, object, channel)."""
        return self.once(("identity", c), lambda: self.identities[c](self.now.present[c]))

    def numbers(self, c: str, f: str) -> Tensor:
        """The values of a field: (batch * object, component)."""

        def make() -> Tensor:
            field, values = self.schema.field(c, f), self.now.values[c][f]
            return as_numbers(field, values, self.dtype).reshape(-1, field.size)

        return self.once(("numbers", c, f), make)

    def equal(self, k: str, c: str, f: str) -> Tensor:
        """Where objects have the same value as others, 0 or 1: (batch, object, other object)."""

        def make() -> Tensor:
            if ("equal", c, k, f) in self._made:
                return self.equal(c, k, f).transpose(1, 2)
            return self._are_equal(k, c, f).to(self.dtype)

        return self.once(("equal", k, c, f), make)

    def _are_equal(self, k: str, c: str, f: str) -> Tensor:
        ours, theirs = self.schema.field(c, f), self.schema.field(k, f)
        if num_all_codes(ours) is None or (ours.low, ours.high) != (theirs.low, theirs.high):
            return are_equal(self.now.values[c][f], self.now.values[k][f])
        # One number per value is less to compare than its components.
        batch, objects = self.now.present[c].shape
        others = self.now.present[k].shape[1]
        return self.code(c, f).view(batch, objects, 1) == self.code(k, f).view(batch, 1, others)

    def absent(self, c: str) -> Tensor | None:
        """Which rows are no objects, (batch, object); None if all are."""
        present = self.now.present[c]
        return self.once(("absent", c), lambda: None if bool(present.all()) else ~present)


def num_all_codes(field: Field) -> int | None:
    """How many values a field has; None if they are not few enough to go through them all.

    >>> from oocdm.schema import Integer, Real
    >>> num_all_codes(Integer(0, 7, shape=(2,))), num_all_codes(Real())
    (64, None)
    """
    if not field.is_coded:
        return None
    count = field.num_codes**field.size
    return count if count <= MOST_CODES else None


def all_values(field: Field) -> Tensor:
    """All values of a field that has few, in the order of their codes: (value, *shape).

    >>> from oocdm.schema import Integer
    >>> all_values(Integer(2, 4)).tolist()
    [2, 3, 4]
    """
    rows = list(itertools.product(range(field.num_codes), repeat=field.size))
    return field.from_codes(torch.tensor(rows).reshape(-1, *field.shape))


def _code(field: Field, values: Tensor) -> Tensor:
    # Rows that are no objects hold 0, which need not be a value: codes are clipped.
    parts = field.to_codes(values).flatten(0, 1).long()
    if field.shape == ():
        return parts
    parts = parts.flatten(1)
    return combine((part, field.num_codes) for part in parts.unbind(1))


def combine(codes: Iterable[tuple[Tensor, int]]) -> Tensor:
    """One number for all combinations of codes, each given with how many values it has.

    >>> combine([(torch.tensor([0, 1]), 2), (torch.tensor([3, 4]), 5)])
    tensor([3, 9])
    """
    (index, _), *others = codes
    for code, count in others:
        index = torch.add(code, index, alpha=count)
    return index
