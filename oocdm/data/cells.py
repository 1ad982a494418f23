"""The objects of one class in all rows of a log, without padding, and padded where asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oocdm.data.places import Places

RaggedColumn = tuple[Places, np.ndarray]  # where cells are, and what is in them, (cell, ...)


class Padded(Mapping[str, np.ndarray]):
    """Columns by name, each padded to an array (row, place, ...) when somebody asks for it.

    Arrays cannot be written. They are kept, unless padding more than doubles them.

    >>> places = Places.of_mask(np.array([[True, False], [True, True]]))
    >>> Padded({"x": (places, np.array([1, 2, 3]))})["x"]
    array([[1, 0],
           [2, 3]])
    """

    def __init__(self, columns: Mapping[str, RaggedColumn]) -> None:
        self.columns = columns
        self._kept: dict[str, np.ndarray] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self._kept:
            return self._kept[name]
        places, column = self.columns[name]
        array = frozen(places.pad(column))
        if not places.is_sparse:
            self._kept[name] = array
        return array

    def __reduce__(self) -> tuple[type[Padded], tuple[Mapping[str, RaggedColumn]]]:
        return Padded, (self.columns,)  # copies and pickles need no padding

    def __contains__(self, name: object) -> bool:  # which a Mapping finds out by padding
        return name in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


@dataclass(frozen=True, eq=False)
class Cells:
    """The objects of one class: where they are, their values, and which of these are known.

    A cell is one object in one row. Values that are not known are 0.

    >>> on = np.array([[True, False], [True, True]])
    >>> x = np.array([[5, 0], [6, 0]])
    >>> cells = Cells.of_arrays(on, {"x": x}, {"x": x > 0})
    >>> cells.values["x"], cells.observed["x"]
    (array([5, 6, 0]), array([ True,  True, False]))
    """

    places: Places
    values: Mapping[str, np.ndarray]  # (cell, *shape)
    observed: Mapping[str, np.ndarray]  # (cell,)

    @staticmethod
    def of_arrays(
        present: np.ndarray, values: Mapping[str, np.ndarray], observed: Mapping[str, np.ndarray]
    ) -> Cells:
        """From padded arrays, (row, place, ...)."""
        places = Places.of_mask(present)
        return Cells(
            places,
            {f: places.unpad(array) for f, array in values.items()},
            {f: places.unpad(array) for f, array in observed.items()},
        )

    @staticmethod
    def joined(parts: Sequence[Cells]) -> Cells:
        """The rows of several, one after another.

        >>> on = np.ones((1, 2), bool)
        >>> one, two = (Cells.of_arrays(on, {"x": on * x}, {"x": on}) for x in (5, 6))
        >>> Cells.joined([one, two]).values["x"]
        array([5, 5, 6, 6])
        """
        return Cells(
            Places.joined([part.places for part in parts]),
            {f: np.concatenate([part.values[f] for part in parts]) for f in parts[0].values},
            {f: np.concatenate([part.observed[f] for part in parts]) for f in parts[0].observed},
        )

    @staticmethod
    def of_views(
        places: Places, values: Mapping[str, np.ndarray], observed: Mapping[str, np.ndarray]
    ) -> Cells | None:
        """From what `padded` made, as it was; None if it is something else by now."""
        if not isinstance(values, Padded) or not isinstance(observed, Padded):
            return None
        if any(own is not places for v in (values, observed) for own, _ in v.columns.values()):
            return None
        parts = [{f: column for f, (_, column) in v.columns.items()} for v in (values, observed)]
        return Cells(places, *parts)

    @cached_property
    def there(self) -> np.ndarray:
        """That every cell is there, (cell,): a column that takes no memory."""
        return np.broadcast_to(np.True_, len(self.places.place))

    def padded(self) -> tuple[Padded, Padded]:
        """Values and whether they are known, as arrays (row, place, ...) by field."""
        values, observed = (
            Padded({f: (self.places, column) for f, column in columns.items()})
            for columns in (self.values, self.observed)
        )
        return values, observed

    def map(self, places: Places, change: Callable[[np.ndarray], np.ndarray]) -> Cells:
        """Other cells, whose columns are what `change` makes of these."""
        return Cells(
            places,
            {f: change(column) for f, column in self.values.items()},
            {f: change(column) for f, column in self.observed.items()},
        )

    def take(self, rows: np.ndarray) -> Cells:
        """The cells of some rows."""
        return self.map(*self.places.take(rows))


def frozen(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written through; the caller's own array stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view
