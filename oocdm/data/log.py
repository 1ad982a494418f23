"""The arrays of logged steps, as frames and files give them and a `Dataset` holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from oocdm.data.cells import Cells, Padded, RaggedColumn
from oocdm.data.places import Places
from oocdm.schema import Schema

Arrays = Mapping[str, Mapping[str, np.ndarray]]


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """The steps of many episodes, not yet checked; see `Dataset`.

    It is made from padded arrays, or by `of_cells` from cells without padding, which `cells` and
    `names` have in both cases; then arrays are padded only when somebody asks for one.

    A row is one step of one episode, and rows are sorted by (episode, step).
    `values[class][field]` is (row, object, *shape); `present[class]` (row, object) says which
    entries are objects, `observed[class][field]` (row, object) which values are known; all
    others hold 0. A row's `reward`, `terminated` and `truncated` are the outcome of its action,
    so the last row of an episode has none. `episodes` has any columns with one entry an episode,
    `object_ids[class]` (episode, object) the names of the objects; both follow `episode_ids`.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> on, off = np.ones((3, 1), bool), np.zeros(3, bool)
    >>> log = Log(Schema(Ball), {"Ball": {"x": np.zeros((3, 1), np.float32)}}, {"Ball": on},
    ...           {"Ball": {"x": on}}, np.array([0, 0, 1]), np.array([0, 1, 0]),
    ...           np.zeros(3, np.float32), off, off)
    >>> log.starts, log.episode_ids
    (array([0]), array([0, 1]))
    """

    schema: Schema
    values: Arrays
    present: Mapping[str, np.ndarray]
    observed: Arrays
    episode: np.ndarray
    step: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    episodes: Mapping[str, np.ndarray] = field(default_factory=dict)
    object_ids: Mapping[str, np.ndarray] = field(default_factory=dict)

    @staticmethod
    def of_cells(
        schema: Schema,
        cells: Mapping[str, Cells],
        names: Mapping[str, RaggedColumn] | None = None,
        **columns: Any,
    ) -> Log:
        """From the cells of each class and the names of its objects, as a log has them itself."""
        return Log(schema, **columns, **padded_views(cells, names))

    @cached_property
    def cells(self) -> dict[str, Cells]:
        """The objects of each class in all rows, without padding."""
        return {
            c: self.held(c) or Cells.of_arrays(self.present[c], self.values[c], self.observed[c])
            for c in self.schema.classes
        }

    def held(self, class_name: str) -> Cells | None:
        """The cells that this log was made from; None if it was made from padded arrays."""
        if not isinstance(self.present, Padded) or class_name not in self.present:
            return None
        places = self.present.columns[class_name][0]
        values, observed = (table.get(class_name, {}) for table in (self.values, self.observed))
        return Cells.of_views(places, values, observed)

    @cached_property
    def names(self) -> dict[str, RaggedColumn]:
        """The names of the objects of each class, without padding: a row for each episode.

        An episode has one for each of its places up to the last that is taken. If nobody gave
        them names, they are numbered.
        """
        return {c: self._names(c) for c in self.schema.classes}

    def _names(self, class_name: str) -> RaggedColumn:
        if not self.object_ids:
            width = self.cells[class_name].places.width
            numbered = Places.first(self.num_places(class_name), width)
            return numbered, numbered.place.astype(np.int64)
        if isinstance(self.object_ids, Padded) and self.held(class_name) is not None:
            return self.object_ids.columns[class_name]
        array = self.object_ids[class_name]
        return Places.full(*array.shape), array.reshape(-1)

    @cached_property
    def starts(self) -> np.ndarray:
        """The rows in which the transitions start, (transition,); each ends in the next row."""
        follows = (self.episode[1:] == self.episode[:-1]) & (self.step[1:] == self.step[:-1] + 1)
        return np.flatnonzero(follows)

    @cached_property
    def is_last(self) -> np.ndarray:
        """Which rows are the last of their episode, (row,)."""
        return np.append(self.episode[1:] != self.episode[:-1], True)

    @cached_property
    def episode_ids(self) -> np.ndarray:
        """The numbers of the episodes, sorted."""
        return np.unique(self.episode)

    @property
    def num_episodes(self) -> int:
        """How many episodes there are."""
        return len(self.episode_ids)

    @cached_property
    def episode_index(self) -> np.ndarray:
        """Where the episode of each row stands among `episode_ids`, (row,)."""
        return np.searchsorted(self.episode_ids, self.episode)

    def num_places(self, class_name: str) -> np.ndarray:
        """How many places of a class each episode needs, (episode,)."""
        firsts = np.flatnonzero(np.diff(self.episode_index, prepend=-1))
        needed: np.ndarray = np.maximum.reduceat(self.cells[class_name].places.widths, firsts)
        return needed

    def objects_of(self, class_name: str) -> np.ndarray:
        """Which object each cell of a class is, (cell,): where its name stands among `names`."""
        places = self.cells[class_name].places
        first = self.names[class_name][0].starts[self.episode_index]
        return np.repeat(first, places.counts) + places.place

    def place(self, class_name: str, row: int, slot: int) -> str:
        """Where an entry of the arrays stands in the log, for messages."""
        places, names = self.names[class_name]
        name = names[places.starts[self.episode_index[row]] + slot]
        return f"episode {self.episode[row]}, step {self.step[row]}, object {name}"


def padded_views(
    cells: Mapping[str, Cells], names: Mapping[str, RaggedColumn] | None
) -> dict[str, Any]:
    """The fields of a `Log` that cells and names stand for, padded when somebody asks for them."""
    views = {c: each.padded() for c, each in cells.items()}
    return {
        "values": {c: values for c, (values, _) in views.items()},
        "present": Padded({c: (each.places, each.there) for c, each in cells.items()}),
        "observed": {c: observed for c, (_, observed) in views.items()},
        "object_ids": {} if names is None else Padded(names),
    }
