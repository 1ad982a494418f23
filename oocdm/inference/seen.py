"""Which values a model has learned from, and what lies outside of them, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import numpy as np
import torch
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.data.snapshot import Snapshot
from oocdm.errors import ModelError
from oocdm.inference.words import in_words
from oocdm.reading import CountOrZero, Range, known_name, read
from oocdm.schema import Boolean, Field, Schema

TAIL = 0.001  # the share of values at each end, and of a category, that counts as hardly seen
# Share of many values that must lie outside to be told, since some always do; of a field with few
# values to learn from more of them, as many as so many of those.
NOTED, FEW = 0.01, 10
MOST_SHOWN = 8  # categories that are printed


@dataclass(frozen=True)
class SeenField:
    """What was seen of one field before the steps that a model learned from.

    Of numbers the least, the greatest and the quantiles between them, one a component; of
    categories the share of each. All are empty if no value is known.

    >>> from oocdm.schema import Real
    >>> SeenField(count=200, least=(-5.0,), low=(-3.1,), high=(4.2,), most=(6.0,)).words(Real())
    '0.1 %: -3.1 to 4.2'
    """

    count: int
    least: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    most: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    is_constant: bool = False  # a single value in the whole log, after steps, too

    @staticmethod
    def of(field: Field, values: np.ndarray, is_constant: bool = False) -> SeenField:
        """From known values, (value, *shape)."""
        if len(values) == 0:
            return SeenField(0)
        if is_choice(field):
            counts = np.bincount(field.to_codes(values).astype(int), minlength=field.num_codes)
            shares = tuple((counts / len(values)).tolist())
            return SeenField(len(values), shares=shares, is_constant=is_constant)
        numbers = values.reshape(len(values), field.size).astype(np.float64)
        found = np.quantile(numbers, [0.0, TAIL, 1.0 - TAIL, 1.0], axis=0)
        least, low, high, most = (tuple(each) for each in found.tolist())
        return SeenField(len(values), least, low, high, most, is_constant=is_constant)

    def is_outside(self, field: Field, values: Tensor) -> Tensor:
        """Which values (..., *shape) lie beyond the quantiles, or in a category hardly seen."""
        values = values.detach().cpu()
        if self.count == 0:
            return torch.ones(values.shape[: values.ndim - len(field.shape)], dtype=torch.bool)
        if is_choice(field):
            is_rare = torch.tensor([share < TAIL for share in self.shares])
            return is_rare[field.to_codes(values.long())]
        leading = values.shape[: values.ndim - len(field.shape)]
        numbers = values.double().reshape(*leading, field.size)
        low, high = (torch.tensor(ends, dtype=torch.float64) for ends in (self.low, self.high))
        return ~((numbers >= low) & (numbers <= high)).all(-1)  # nor is NaN inside

    def words(self, field: Field) -> str:
        """What was seen, in short."""
        if self.count == 0:
            return "no value was"
        if is_choice(field):
            order = np.argsort([-share for share in self.shares], kind="stable")
            first = field.from_codes(np.arange(field.num_codes)).tolist()
            shown = [
                f"{in_words(field, first[i])} {100 * self.shares[i]:.3g} %"
                for i in order[:MOST_SHOWN]
            ]
            more = len(self.shares) - len(shown)
            return ", ".join(shown) + (f" and {more} more" if more else "")
        return f"{100 * TAIL:g} %: {_ends(field, self.low)} to {_ends(field, self.high)}"


def is_choice(field: Field) -> bool:
    """Whether the values of a field are few that have no order, or no use of it.

    >>> from oocdm.schema import Integer
    >>> is_choice(Boolean()), is_choice(Integer(0, 1))
    (True, False)
    """
    return isinstance(field, Boolean) or not field.is_numeric


def _ends(field: Field, numbers: tuple[float, ...]) -> str:
    return in_words(field, list(numbers) if field.shape else numbers[0])


@dataclass(frozen=True, repr=False)
class Seen:
    """What a model has seen of every field, `seen["Car.vx"]`, in the data that it learned from.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=300, seed=0)
    >>> seen = Seen.of(data)
    >>> seen["Block.a"].count
    600
    >>> print(seen.outside("Block[0].a", "Block.a", 99.0))  # doctest: +ELLIPSIS
    Block[0].a = 99 lies outside what was seen of Block.a (0.1 %: -... to ...)
    """

    schema: Schema
    fields: Mapping[str, SeenField]

    @staticmethod
    def of(data: Dataset, constants: Collection[str] = ()) -> Seen:
        """What a dataset shows before its steps; some fields are constant in the whole log."""
        found = {}
        for c in data.schema.classes:
            cells = data.cells[c]
            pick = cells.places.take(data.starts)[1]
            for f, field in data.schema.fields(c).items():
                known = pick(cells.values[f])[pick(cells.observed[f])]
                name = f"{c}.{f}"
                found[name] = SeenField.of(field, known, name in constants)
        return Seen(data.schema, found)

    @property
    def constants(self) -> tuple[str, ...]:
        """The fields that had a single value: nothing was there to learn about them."""
        return tuple(name for name, seen in self.fields.items() if seen.is_constant)

    def __getitem__(self, name: str) -> SeenField:
        return self.fields[known_name(name, self.fields, "field", ModelError)]

    def __repr__(self) -> str:
        return f"Seen({len(self.fields)} fields)"

    def __str__(self) -> str:
        width = max(map(len, self.fields), default=0) + 2
        return "\n".join(
            f"{name:{width}}{seen.words(self._kind(name))}" for name, seen in self.fields.items()
        )

    def _kind(self, name: str) -> Field:
        return self.schema.field(*self.schema.split(name))

    # ---------------------------------------------------------------- what lies outside

    def outside(self, where: str, name: str, value: Any) -> str | None:
        """A sentence about one value of a field, if it lies outside what was seen."""
        kind, seen = self._kind(name), self[name]
        if not bool(seen.is_outside(kind, torch.as_tensor(value))):
            return None
        shown = in_words(kind, torch.as_tensor(value).tolist())
        return f"{where} = {shown} lies outside what was seen of {name} ({seen.words(kind)})"

    def is_outside(self, name: str, values: Tensor) -> Tensor:
        """Which values (..., *shape) of a field lie outside what was seen, on the processor."""
        return self[name].is_outside(self._kind(name), values)

    def count(self, states: Snapshot) -> dict[str, np.ndarray]:
        """For each field how many of its known values lie outside, and how many there are."""
        found = {}
        for c, fields in states.values.items():
            for f, each in fields.items():
                is_known = states.observed[c][f].cpu()
                is_out = self.is_outside(f"{c}.{f}", each) & is_known
                found[f"{c}.{f}"] = np.array([int(is_out.sum()), int(is_known.sum())])
        return found

    def notes(self, counts: Mapping[str, np.ndarray], where: str = "") -> Iterator[str]:
        """A sentence about each field of which more than a few values lie outside."""
        for name, (num_out, num) in counts.items():
            count = self[name].count
            if num_out > (max(NOTED, FEW / count) * num if count else 0):
                share, words = 100 * num_out / num, self[name].words(self._kind(name))
                many = f"{share:.0f}" if share >= 10 else f"{share:.2g}"
                yield f"{many} % of {name}{where} lie outside what was seen ({words})"

    # ---------------------------------------------------------------- on disk

    def to_json(self) -> dict[str, Any]:
        """All of it, JSON-ready."""
        return {name: {k: _plain(v) for k, v in vars(s).items()} for name, s in self.fields.items()}

    @staticmethod
    def from_json(schema: Schema, data: Any, where: str) -> Seen | None:
        """Read back what `to_json` wrote, or None; errors start with `where`."""
        if data is None:
            return None
        rows: dict[str, Any] = read(dict[str, _Row], data, where, ModelError, complete=True)
        expected = [f"{c}.{f}" for c in schema.classes for f in schema.fields(c)]
        if list(rows) != expected:
            wrong = sorted(set(rows) ^ set(expected))
            raise ModelError(
                f"{where}: expected the fields of the schema in their order, got another list"
                + (f": `{wrong[0]}` is in one of them alone." if wrong else ".")
            )
        fields = {}
        for name, row in rows.items():
            kind = schema.field(*schema.split(name))
            columns: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
            fields[name] = SeenField(**columns)
            _check(f"{where}: `{name}`", kind, fields[name])
        return Seen(schema, fields)


def seen_by(result: Any) -> Seen | None:
    """What a fitted result has seen; None if it does not tell.

    >>> seen_by("anything else")
    """
    found: Seen | None = getattr(result, "seen", None)
    return found


class _Row(TypedDict):
    count: CountOrZero
    least: list[float]
    low: list[float]
    high: list[float]
    most: list[float]
    shares: list[Annotated[float, Range(at_least=0, at_most=1)]]
    is_constant: bool


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _check(where: str, kind: Field, seen: SeenField) -> None:
    """Raise a `ModelError` unless this can have been seen of such a field."""
    ends = (seen.least, seen.low, seen.high, seen.most)
    if seen.is_constant and (seen.least != seen.most or max(seen.shares, default=1.0) < 1.0):
        raise ModelError(f"{where}: expected a single value of what is constant, got more.")
    is_chosen, is_known = is_choice(kind), seen.count > 0
    size = kind.size * (is_known and not is_chosen)
    num_shares = kind.num_codes * (is_known and is_chosen)
    if any(len(each) != size for each in ends) or len(seen.shares) != num_shares:
        raise ModelError(
            f"{where}: expected {size} numbers of each kind and {num_shares} shares, "
            f"got {', '.join(str(len(each)) for each in ends)} and {len(seen.shares)}."
        )
    if any(list(column) != sorted(column) for column in zip(*ends, strict=True)):
        raise ModelError(f"{where}: expected least <= low <= high <= most of each component.")
    if seen.shares and abs(sum(seen.shares) - 1.0) > 1e-6:
        raise ModelError(f"{where}: expected shares that add up to 1, got {sum(seen.shares):g}.")
