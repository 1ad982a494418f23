"""Logged steps of many episodes, padded to arrays, and the transitions among them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from oocdm.data.array_checks import check_log
from oocdm.data.clusters import clusters_of
from oocdm.data.folder import read_log, write_log
from oocdm.data.frames import read_frames
from oocdm.data.log import Arrays, Log
from oocdm.data.matching import warn_of_mismatch
from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.data.static import fill_static
from oocdm.data.values import say_objects
from oocdm.errors import DataError, suggest
from oocdm.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Log):
    """The logged steps of many episodes; a transition is two steps that follow each other.

    Made by `Dataset.from_frames`, `oocdm.collect` or `load_dataset`; `Log` tells what its arrays
    mean. They are checked when it is made and cannot be written afterwards. A static value that
    some steps of an episode lack is filled in from the others.

    >>> import pandas as pd
    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> log = pd.DataFrame({"episode": [0, 0, 1, 1], "step": [0, 1, 0, 1], "object": 0,
    ...                     "x": [0.0, 0.5, 1.0, 1.5]})
    >>> data = Dataset.from_frames({"Ball": log}, Schema(Ball))
    >>> data
    Dataset(2 episodes, 2 transitions; Ball: 1 object)
    >>> data.transitions().after["Ball.x"]
    tensor([[0.5000],
            [1.5000]])
    """

    def __post_init__(self) -> None:
        if not self.object_ids:
            object.__setattr__(self, "object_ids", self._slots_as_ids())
        check_log(self)
        self._fill_static()
        self._freeze()

    @staticmethod
    def _of_checked(schema: Schema, **columns: Any) -> Dataset:
        """Rows of a dataset as one of their own: they were checked when it was made."""
        made = object.__new__(Dataset)
        for name, column in {"schema": schema, **columns}.items():
            object.__setattr__(made, name, column)
        made._freeze()
        return made

    def _freeze(self) -> None:
        for name in ("episode", "step", "reward", "terminated", "truncated"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))
        for name in ("present", "episodes", "object_ids"):
            columns = {c: _frozen(v) for c, v in getattr(self, name).items()}
            object.__setattr__(self, name, columns)
        for name in ("values", "observed"):
            object.__setattr__(self, name, _map(getattr(self, name), _frozen))

    def _fill_static(self) -> None:
        values = {c: dict(fields) for c, fields in self.values.items()}
        observed = {c: dict(fields) for c, fields in self.observed.items()}
        for c, cls in self.schema.classes.items():
            for f in (name for name, field in cls.fields.items() if field.static):
                filled = fill_static(self, c, f)
                if filled is not None:
                    values[c][f], observed[c][f] = filled
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "observed", observed)

    def _slots_as_ids(self) -> dict[str, np.ndarray]:
        num = len(np.unique(self.episode))
        return {
            name: np.broadcast_to(np.arange(present.shape[-1]), (num, present.shape[-1]))
            for name, present in self.present.items()
        }

    @staticmethod
    def from_frames(
        frames: Mapping[str, pd.DataFrame],
        schema: Schema,
        steps: pd.DataFrame | None = None,
        episodes: pd.DataFrame | None = None,
    ) -> Dataset:
        """A dataset from pandas frames in long format, one per class.

        Each frame has the columns episode, step, object and one per field; a cell that is None or
        pd.NA is a missing value. `steps` has the columns episode, step and, as far as known,
        reward, terminated, truncated, which the last step of an episode may lack; without it,
        every step that any frame mentions counts.
        `episodes` has the column episode and any others. See `oocdm.data.frames`.

        A class that is absent from whole episodes or from every other step is warned of through
        `logging`.
        """
        data = _checked(read_frames(frames, schema, steps, episodes))
        warn_of_mismatch(data)
        return data

    def save(self, folder: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write a folder that `load_dataset`, pandas and DuckDB can read; all of it or nothing."""
        write_log(self, folder, overwrite)

    @property
    def episode_of(self) -> np.ndarray:
        """The episode of each transition, (transition,)."""
        return self.episode.take(self.starts)

    @cached_property
    def clusters(self) -> np.ndarray:
        """The cluster of each transition, (transition,): its episode, or part of a long one."""
        return clusters_of(self.episode_of)

    @cached_property
    def max_counts(self) -> dict[str, int]:
        """The largest number of objects of each class that are present in any one step."""
        return {name: int(p.sum(axis=1).max()) for name, p in self.present.items()}

    def object_number(self, episode: int, class_name: str, name: str | int) -> int:
        """The place of a named object in the arrays of an episode: the i of `Car[i]`.

        `object_ids` tells the reverse, the name at each place.

        >>> import pandas as pd
        >>> from oocdm.schema import ObjectClass, Real
        >>> class Car(ObjectClass):
        ...     v = Real()
        >>> log = pd.DataFrame({"episode": 0, "step": [0, 0, 1, 1], "object": ["B", "A"] * 2,
        ...                     "v": [1.0, 2.0, 3.0, 4.0]})
        >>> data = Dataset.from_frames({"Car": log}, Schema(Car))
        >>> data.object_number(0, "Car", "B")
        1
        """
        self.schema.fields(class_name)  # which says so if there is no such class
        rows = np.flatnonzero(self.episode == episode)
        if len(rows) == 0:
            raise DataError(self._unknown_episode("object_number", f"episode {episode!r}"))
        places = np.flatnonzero(self.present[class_name][rows].any(axis=0))
        index = int(np.searchsorted(self.episode_ids, episode))
        names = dict(zip(self.object_ids[class_name][index, places].tolist(), places, strict=True))
        if name not in names:
            raise DataError(
                f"object_number: episode {episode}, class `{class_name}`: unknown object {name!r}. "
                f"{suggest(str(name), map(str, names))}"
            )
        return int(names[name])

    def _unknown_episode(self, where: str, got: str) -> str:
        return (
            f"{where}: expected episodes of this dataset, which has {self.num_episodes} from "
            f"{self.episode_ids[0]} to {self.episode_ids[-1]}; got {got}."
        )

    def __len__(self) -> int:
        return len(self.starts)

    def transitions(self, rows: np.ndarray | slice | None = None) -> Transitions:
        """Some of the transitions, or all, as tensors; the state after a step has no actions."""
        before = self.starts if rows is None else self.starts[rows]
        return Transitions(self._snapshot(before, True), self._snapshot(before + 1, False))

    def _snapshot(self, rows: np.ndarray, with_actions: bool) -> Snapshot:
        def take(array: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(array.take(rows, axis=0))

        fields = {
            name: [f for f, kind in cls.fields.items() if with_actions or not kind.action]
            for name, cls in self.schema.classes.items()
        }
        return Snapshot(
            self.schema,
            {c: {f: take(self.values[c][f]) for f in names} for c, names in fields.items()},
            {c: take(self.present[c]) for c in fields},
            {c: {f: take(self.observed[c][f]) for f in names} for c, names in fields.items()},
        )

    def split(self, fraction: float, seed: int) -> tuple[Dataset, Dataset]:
        """Two datasets of whole episodes; a random `fraction` of the episodes is in the second.

        Each side has at least one episode with a transition.
        """
        if not 0 < fraction < 1:
            raise DataError(f"split: expected a fraction between 0 and 1, got {fraction!r}.")
        # Episodes of a single step have no transition, so they cannot make up a side.
        candidates = np.unique(self.episode_of)
        if len(candidates) < 2:
            raise DataError(
                "split: expected at least two episodes with transitions, got "
                f"{len(candidates)}. Whole episodes are split, since the steps of one episode are "
                "alike; log more episodes."
            )
        num = int(np.clip(round(fraction * len(candidates)), 1, len(candidates) - 1))
        chosen = np.random.default_rng(seed).permutation(candidates)[:num]
        rest = np.setdiff1d(self.episode_ids, chosen)
        return self._episodes(rest), self._episodes(chosen)

    def select_episodes(self, ids: Iterable[int] | np.ndarray) -> Dataset:
        """The dataset of some episodes, in the order in which they are here.

        Places at the end that none of their objects needs are dropped.
        """
        chosen = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids))
        unknown = np.setdiff1d(chosen, self.episode_ids)
        if len(unknown) or not len(chosen):
            got = f"episode {unknown[0]}" if len(unknown) else "none"
            raise DataError(self._unknown_episode("select_episodes", got))
        return self._episodes(chosen)._without_empty_places()

    def _episodes(self, ids: np.ndarray) -> Dataset:
        return self._take(np.flatnonzero(np.isin(self.episode, ids)))

    def _without_empty_places(self) -> Dataset:
        used = {
            c: int(np.flatnonzero(present.any(0)).max(initial=-1)) + 1
            for c, present in self.present.items()
        }
        columns = {column.name: getattr(self, column.name) for column in fields(Log)}
        less = dict(
            values={c: {f: v[:, : used[c]] for f, v in x.items()} for c, x in self.values.items()},
            present={c: present[:, : used[c]] for c, present in self.present.items()},
            observed={
                c: {f: v[:, : used[c]] for f, v in x.items()} for c, x in self.observed.items()
            },
            object_ids={c: ids[:, : used[c]] for c, ids in self.object_ids.items()},
        )
        return Dataset._of_checked(**{**columns, **less})

    def head(self, n: int) -> Dataset:
        """The first `n` transitions, or all if there are fewer; a cut episode is truncated."""
        if n < 1:
            raise DataError(f"head: expected at least one transition, got {n}.")
        return self if n >= len(self) else self._take(np.arange(self.starts[n - 1] + 2))

    def _take(self, rows: np.ndarray) -> Dataset:
        """The dataset of some rows; a new last row of an episode loses action and outcome."""
        cut = np.append(np.diff(self.episode[rows]) != 0, True) & ~self.is_last[rows]
        is_kept = np.isin(self.episode_ids, self.episode[rows])
        values = _map(self.values, lambda v: v.take(rows, axis=0))
        observed = _map(self.observed, lambda v: v.take(rows, axis=0))
        for name, cls in self.schema.classes.items():
            for field_name in (f for f, kind in cls.fields.items() if kind.action):
                values[name][field_name][cut] = 0
                observed[name][field_name][cut] = False
        terminated = self.terminated[rows] & ~cut
        truncated = self.truncated[rows] & ~cut
        ends = np.flatnonzero(cut) - 1
        truncated[ends] = ~terminated[ends]
        return Dataset._of_checked(
            self.schema,
            values=values,
            present={c: v.take(rows, axis=0) for c, v in self.present.items()},
            observed=observed,
            episode=self.episode[rows],
            step=self.step[rows],
            reward=np.where(cut, 0, self.reward[rows]).astype(np.float32),
            terminated=terminated,
            truncated=truncated,
            episodes={name: column[is_kept] for name, column in self.episodes.items()},
            object_ids={name: ids[is_kept] for name, ids in self.object_ids.items()},
        )

    def check_schema(self, schema: Schema, what: str) -> None:
        """Raise a `DataError` unless this dataset has the schema of `what` (say, "the model")."""
        difference = self.schema.difference(schema)
        if difference is not None:
            raise DataError(
                f"This dataset does not fit {what}. First difference, dataset against {what}: "
                f"{difference}."
            )

    def __repr__(self) -> str:
        counts = ", ".join(f"{c}: {say_objects(p.sum(1))}" for c, p in self.present.items())
        episodes = f"{self.num_episodes:,} episode{'' if self.num_episodes == 1 else 's'}"
        transitions = f"{len(self):,} transition{'' if len(self) == 1 else 's'}"
        return f"Dataset({episodes}, {transitions}; {counts})"


def load_dataset(folder: str | os.PathLike[str]) -> Dataset:
    """Read a folder that `Dataset.save` wrote, or that somebody made in the same format.

    >>> load_dataset("nowhere")
    Traceback (most recent call last):
    ...
    oocdm.errors.DataError: `nowhere`: expected a dataset folder, got none. \
Write one with `Dataset.save` or `oocdm collect`.
    """
    return _checked(read_log(folder))


def _checked(log: Log) -> Dataset:
    return Dataset(**{column.name: getattr(log, column.name) for column in fields(Log)})


def _map(
    arrays: Arrays, change: Callable[[np.ndarray], np.ndarray]
) -> dict[str, dict[str, np.ndarray]]:
    return {c: {f: change(v) for f, v in fields.items()} for c, fields in arrays.items()}


def _frozen(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written through; the caller's own array stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view
