"""One column of a table: which rows it has, and its cells in the dtype of their field."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from oocdm.data.values import TOO_LARGE, describe_size, is_too_large
from oocdm.errors import DataError, short
from oocdm.schema import Field

logger = logging.getLogger(__name__)

MOST_LOST = 0.02  # of a column's spread, that rounding may take without a word


@dataclass(frozen=True)
class Keys:
    """Which object each row of a class's table describes, and when.

    `code` points into `ids`, the sorted names of the objects: whole numbers or strings.

    >>> keys = Keys(np.array([0]), np.array([3]), np.array([1]), np.array(["a", "b"], object))
    >>> keys.place(0)
    'episode 0, step 3, object b'
    """

    episode: np.ndarray
    step: np.ndarray
    code: np.ndarray
    ids: np.ndarray

    def place(self, cell: int) -> str:
        """Where a row stands in the log, for messages."""
        name = self.ids[self.code[cell]]
        return f"episode {self.episode[cell]}, step {self.step[cell]}, object {name}"


@dataclass(frozen=True)
class Column:
    """One field's column in a class's table; `wanted` (table row,) says which cells to read.

    >>> from oocdm.schema import Real
    >>> keys = Keys(np.array([0]), np.array([3]), np.array([0]), np.array([7]))
    >>> column = Column("Block", "s1", Real(), keys, np.array([True]))
    >>> print(column.error(0, "a number", "'red'"))
    Field `Block.s1`: expected a number, got 'red' at episode 0, step 3, object 7.
    """

    class_name: str
    field_name: str
    field: Field
    keys: Keys
    wanted: np.ndarray

    @property
    def name(self) -> str:
        """The field, as messages begin."""
        return f"Field `{self.class_name}.{self.field_name}`"

    def error(self, cell: int, expected: str, got: str, advice: str = "") -> DataError:
        """The error for one cell, by its row in the table."""
        in_a_line = " ".join(got.split())
        return DataError(
            f"{self.name}: expected {expected}, got {in_a_line} at {self.keys.place(cell)}."
            f"{' ' if advice else ''}{advice}"
        )


def cast(column: Column, known: np.ndarray, cells: np.ndarray, nan_advice: str) -> np.ndarray:
    """The known cells in the field's own dtype."""
    field = column.field
    kind = cells.dtype.kind
    if kind not in "biuf":
        expected = "numbers" if field.is_real else "whole numbers"
        if field.names:
            expected = f"one of the names {', '.join(field.names)} or a whole number"
        raise DataError(
            f"{column.name}: expected {expected}, got a column of dtype {cells.dtype}"
            f"{_first_strange(column, known, cells)}. Convert it, or declare the field as what it "
            "holds."
        )
    if cells.shape[1:] != field.shape:
        raise DataError(
            f"{column.name}: expected values of shape {field.shape}, got {cells.shape[1:]}. "
            "Declare the field with another shape, or write other values."
        )
    if kind == "b" and field.is_real:
        advice = "Declare the field as Boolean, or write numbers."
        raise column.error(int(np.argmax(known)), "a number", short(cells.flat[0]), advice)
    if kind == "f":
        advice = nan_advice.format(name=column.field_name)
        _check(column, known, cells, np.isnan(cells), "a finite number", advice)
    if not field.is_real:
        _check(column, known, cells, not_whole(cells), "a whole number (int64)", "")
    _check(column, known, cells, is_too_large(field, cells), describe_size(field), TOO_LARGE)
    held = cells.astype(field.dtype)
    if field.is_real and held.size:
        _warn_of_rounding(column, cells, held)
    return held


def _warn_of_rounding(column: Column, cells: np.ndarray, held: np.ndarray) -> None:
    """Warn if much of what the values differ in is lost; `fit` warns of what is lost of changes."""
    with np.errstate(invalid="ignore"):
        lost, spread = np.abs(cells - held).max(), np.ptp(cells)
    if np.isfinite(lost) and spread > 0 and lost > MOST_LOST * spread:
        logger.warning(
            "Field `%s.%s`: values such as %.8g are kept to 7 digits, and up to %.2g is lost of a "
            "spread of %.2g. Subtract a number near them from the column.",
            *(column.class_name, column.field_name, cells.flat[0], lost, spread),
        )


def _check(
    column: Column,
    known: np.ndarray,
    cells: np.ndarray,
    bad: np.ndarray,
    expected: str,
    advice: str,
) -> None:
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        got = "NaN" if cells[where] != cells[where] else str(cells[where])
        raise column.error(int(np.flatnonzero(known)[where[0]]), expected, got, advice)


def not_whole(cells: np.ndarray) -> np.ndarray:
    if cells.dtype.kind == "f":
        # Of NumPy's type, since small floats could not even hold it to be compared.
        return np.asarray((cells != np.floor(cells)) | (np.abs(cells) >= np.float64(2.0**63)))
    if cells.dtype.kind == "u":
        return np.asarray(cells > np.uint64(np.iinfo(np.int64).max))
    return np.zeros(cells.shape, dtype=bool)


def _first_strange(column: Column, known: np.ndarray, cells: np.ndarray) -> str:
    """Which value makes a column of any objects unusable as numbers."""
    for cell, value in zip(np.flatnonzero(known), cells, strict=True):
        parts = value.tolist() if cells.ndim > 1 else [value]
        if not all(map(_is_number, parts)):
            in_a_line = " ".join(short(parts if cells.ndim > 1 else value).split())
            return f", with {in_a_line} at {column.keys.place(int(cell))}"
    return ""


def _is_number(value: object) -> bool:
    """Whether NumPy can hold it as a real number."""
    if isinstance(value, int | np.integer):
        return -(2**63) <= int(value) < 2**63
    return isinstance(value, float | np.floating | np.bool_)
