"""The arrays of logged steps, as frames and files give them and a `Dataset` holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from oocdm.schema import Schema

Arrays = Mapping[str, Mapping[str, np.ndarray]]


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """The steps of many episodes in padded arrays, not yet checked; see `Dataset`.

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

    def place(self, class_name: str, row: int, slot: int) -> str:
        """Where an entry of the arrays stands in the log, for messages."""
        index = np.searchsorted(self.episode_ids, self.episode[row])
        name = self.object_ids[class_name][index, slot]
        return f"episode {self.episode[row]}, step {self.step[row]}, object {name}"
