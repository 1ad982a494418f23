"""Which places objects take in each row of a log: what is left of padded arrays without padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

Pick = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Places:
    """The places that are taken in each of many rows, row after row, ascending in a row.

    A cell is a place that is taken. A column (cell, ...) has an entry for each of them; padded to
    (row, place, ...) it has 0, or an empty string, in the others.

    >>> places = Places.of_mask(np.array([[True, True, False], [False, False, True]]))
    >>> places.counts, places.place
    (array([2, 1]), array([0, 1, 2], dtype=int32))
    >>> places.pad(np.array([7, 8, 9]))
    array([[7, 8, 0],
           [0, 0, 9]])
    """

    counts: np.ndarray  # (row,): how many places are taken
    place: np.ndarray  # (cell,)
    width: int  # how many places there are

    @staticmethod
    def full(num_rows: int, width: int) -> Places:
        """All places of all rows."""
        place = np.empty((num_rows, width), dtype=np.int32)
        place[:] = np.arange(width)
        return Places(np.full(num_rows, width), place.reshape(-1), width)

    @staticmethod
    def first(counts: np.ndarray, width: int) -> Places:
        """The first places of each row, as many as `counts` says.

        >>> Places.first(np.array([2, 0, 1]), 4).place
        array([0, 1, 0], dtype=int32)
        """
        starts = np.cumsum(counts) - counts
        place = np.arange(counts.sum()) - np.repeat(starts, counts)
        return Places(counts, place.astype(np.int32), width)

    @staticmethod
    def of_mask(is_taken: np.ndarray) -> Places:
        """The places that a mask (row, place) marks."""
        if is_taken.all():
            return Places.full(*is_taken.shape)
        place = np.nonzero(is_taken)[1].astype(np.int32)
        return Places(is_taken.sum(axis=1), place, is_taken.shape[1])

    @staticmethod
    def joined(parts: Sequence[Places]) -> Places:
        """The rows of several, one after another, as wide as the widest.

        >>> one, two = Places.full(1, 1), Places.full(2, 2)
        >>> Places.joined([one, two]).pad(np.array([7, 8, 9, 8, 9]))
        array([[7, 0],
               [8, 9],
               [8, 9]])
        """
        counts, place = (
            np.concatenate(each) for each in ([p.counts for p in parts], [p.place for p in parts])
        )
        return Places(counts, place, max(part.width for part in parts))

    @cached_property
    def starts(self) -> np.ndarray:
        """The first cell of each row, (row,)."""
        starts: np.ndarray = np.cumsum(self.counts) - self.counts
        return starts

    @property
    def row(self) -> np.ndarray:
        """The row of each cell, (cell,)."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def widths(self) -> np.ndarray:
        """How many places each row needs, up to the last one that is taken, (row,)."""
        widths = np.zeros(len(self.counts), dtype=np.int64)
        is_used = self.counts > 0
        widths[is_used] = self.place[(self.starts + self.counts - 1)[is_used]] + 1
        return widths

    @property
    def is_full(self) -> bool:
        """Whether every place of every row is taken: then nothing has to be padded."""
        return len(self.place) == len(self.counts) * self.width

    @property
    def is_sparse(self) -> bool:
        """Whether more places are free than taken: padding would more than double a column."""
        return len(self.counts) * self.width > 2 * len(self.place)

    def where(self, cell: int) -> tuple[int, int]:
        """The row and the place of a cell."""
        row = int(np.searchsorted(self.starts + self.counts, cell, side="right"))
        return row, int(self.place[cell])

    def take(self, rows: np.ndarray) -> tuple[Places, Pick]:
        """The places of some rows, by their numbers, and what picks their cells of a column.

        >>> places, pick = Places.of_mask(np.array([[1, 1], [0, 1]], bool)).take(np.array([1]))
        >>> places.place, pick(np.array([7, 8, 9]))
        (array([1], dtype=int32), array([9]))
        """
        if self.is_full:  # whole rows are faster to pick than cells
            size = len(rows) * self.width
            pick = self.padder(rows, self.width)
            return Places.full(len(rows), self.width), lambda column: pick(column).reshape(
                size, *column.shape[1:]
            )
        counts = self.counts[rows]
        starts = np.cumsum(counts) - counts
        cells = np.repeat(self.starts[rows] - starts, counts) + np.arange(counts.sum())
        places = Places(counts, self.place[cells], self.width)
        return places, lambda column: column.take(cells, axis=0)

    def padder(self, rows: np.ndarray, width: int) -> Pick:
        """What makes a padded array of a column in some rows, with the first `width` places."""
        if self.is_full and width == self.width:
            leading = (len(self.counts), width)
            return lambda column: column.reshape(*leading, *column.shape[1:]).take(rows, axis=0)
        places, pick = self.take(rows)
        return lambda column: places.pad(pick(column), width)

    def pad(self, column: np.ndarray, width: int | None = None) -> np.ndarray:
        """A column as an array (row, place, ...), of all places or of the first `width`."""
        wide = self.width if width is None else width
        rows, own = len(self.counts), column.shape[1:]
        if self.is_full and wide == self.width:
            return column.reshape(rows, wide, *own)
        padded = np.zeros((rows * wide, *own), dtype=column.dtype)
        if column.dtype == object:  # names: they are blank as other strings are
            padded[:] = ""
        padded[self.row * wide + self.place] = column
        return padded.reshape(rows, wide, *own)

    def unpad(self, array: np.ndarray) -> np.ndarray:
        """The column that an array (row, place, ...) is the padded form of."""
        flat = array.reshape(len(self.counts) * self.width, *array.shape[2:])
        return flat if self.is_full else flat.take(self.row * self.width + self.place, axis=0)

    def narrowed(self, width: int) -> tuple[Places, Pick]:
        """Only the first `width` places, and what picks their cells of a column."""
        is_kept = self.place < width
        lost = np.bincount(self.row[~is_kept], minlength=len(self.counts))
        places = Places(self.counts - lost, self.place[is_kept], width)
        return places, lambda column: column[is_kept]
