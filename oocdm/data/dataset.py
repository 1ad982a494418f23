"""Logged steps of many episodes, and the transitions among them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from oocdm.data.array_checks import check_log
from oocdm.data.cells import Cells, RaggedColumn, frozen
from oocdm.data.clusters import clusters_of
from oocdm.data.folder import read_log, write_log
from oocdm.data.frames import read_frames
from oocdm.data.identity import identity_fields, with_fields, with_numbers
from oocdm.data.log import Log, padded_views
from oocdm.data.matching import warn_of_mismatch
from oocdm.data.object_names import check_steady_names
from oocdm.data.places import Places
from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.data.static import fill_static
from oocdm.data.values import say_objects
from oocdm.errors import DataError, short, suggest
from oocdm.reading import Seed, checked, read
from oocdm.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

ALWAYS_PADDED = 16  # places: so few are worth it, since batches of equal shapes are simpler


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
        check_log(self)
        self._hold(fill_static(self), self.names)

    @staticmethod
    def of_log(log: Log) -> Dataset:
        """The dataset of a log, which is checked."""
        return Dataset(**{column.name: getattr(log, column.name) for column in fields(Log)})

    @staticmethod
    def _of_checked(
        schema: Schema,
        cells: Mapping[str, Cells],
        names: Mapping[str, RaggedColumn],
        **columns: Any,
    ) -> Dataset:
        """Rows of a dataset as one of their own: they were checked when it was made."""
        made = object.__new__(Dataset)
        for name, column in {"schema": schema, **columns}.items():
            object.__setattr__(made, name, column)
        made._hold(cells, names)
        return made

    def _hold(self, cells: Mapping[str, Cells], names: Mapping[str, RaggedColumn]) -> None:
        """Keep cells and names in place of all arrays; nothing can be written afterwards."""
        for name in ("episode", "step", "reward", "terminated", "truncated"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        held: dict[str, Any] = {
            "episodes": {name: frozen(column) for name, column in self.episodes.items()},
            "cells": {c: each.map(each.places, frozen) for c, each in cells.items()},
            "names": {c: (places, frozen(column)) for c, (places, column) in names.items()},
        }
        for name, kept in {**held, **padded_views(held["cells"], held["names"])}.items():
            object.__setattr__(self, name, kept)

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
        data = Dataset.of_log(read_frames(frames, schema, steps, episodes))
        warn_of_mismatch(data)
        return data

    @staticmethod
    def joined(datasets: Sequence[Dataset]) -> Dataset:
        """The episodes of several datasets of one schema, one after another and numbered anew.

        Columns of `episodes` that some of them lack are left out.

        >>> import oocdm
        >>> one, two = (oocdm.collect(oocdm.make("block"), 30, seed=seed) for seed in (0, 1))
        >>> Dataset.joined([one, two]).episode_of[[0, 29, 30, 59]]
        array([0, 0, 1, 1])
        """
        parts = read(list[Dataset], datasets, "Dataset.joined: `datasets`", DataError)
        if not parts:
            raise DataError("Dataset.joined: expected at least one dataset, got none.")
        for part in parts[1:]:
            part.check_schema(parts[0].schema, "the first one")
        if len(parts) == 1 and (parts[0].episode_ids == np.arange(parts[0].num_episodes)).all():
            return parts[0]
        firsts = np.cumsum([0, *(part.num_episodes for part in parts[:-1])])
        names = {}
        for c in parts[0].schema.classes:
            places, columns = zip(*(part.names[c] for part in parts), strict=True)
            names[c] = (Places.joined(places), np.concatenate(columns))
        shared = [n for n in parts[0].episodes if all(n in part.episodes for part in parts)]
        return Dataset._of_checked(
            parts[0].schema,
            {c: Cells.joined([part.cells[c] for part in parts]) for c in parts[0].schema.classes},
            names,
            episode=np.concatenate(
                [part.episode_index + first for part, first in zip(parts, firsts, strict=True)]
            ),
            **{
                name: np.concatenate([getattr(part, name) for part in parts])
                for name in ("step", "reward", "terminated", "truncated")
            },
            episodes={n: np.concatenate([part.episodes[n] for part in parts]) for n in shared},
        )

    @checked(DataError)
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
        return {c: int(cells.places.counts.max()) for c, cells in self.cells.items()}

    @cached_property
    def constants(self) -> tuple[str, ...]:
        """The fields that have a single value in the whole log, as far as it is known.

        >>> import pandas as pd
        >>> from oocdm.schema import ObjectClass, Real
        >>> class Ball(ObjectClass):
        ...     x, mass = Real(), Real(static=True)
        >>> log = pd.DataFrame({"episode": 0, "step": [0, 1], "object": 0, "x": [0.0, 1.0],
        ...                     "mass": 2.0})
        >>> Dataset.from_frames({"Ball": log}, Schema(Ball)).constants
        ('Ball.mass',)
        """
        found = []
        for c, cells in self.cells.items():
            for f in self.schema.fields(c):
                known = cells.values[f][cells.observed[f]]
                if len(known) > 1 and (known == known[0]).all():
                    found.append(f"{c}.{f}")
        return tuple(found)

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
        names = self.objects_in(episode, class_name)
        if not (self.episode_ids == episode).any():
            raise DataError(self._unknown_episode("object_number", f"episode {episode!r}"))
        if name not in names:
            raise DataError(
                f"object_number: episode {episode}, class `{class_name}`: unknown object {name!r}. "
                f"{suggest(str(name), map(str, names))}"
            )
        return names[name]

    def objects_in(self, episode: int, class_name: str) -> dict[str | int, int]:
        """The names of the objects of a class in an episode, and the place of each.

        >>> import oocdm
        >>> data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=60, seed=0)
        >>> data.objects_in(0, "Block")
        {0: 0, 1: 1}
        """
        rows = np.flatnonzero(self.episode == episode)
        if len(rows) == 0:
            return {}
        taken = np.unique(self.cells[class_name].places.take(rows)[0].place)
        places, names = self.names[class_name]
        first = places.starts[self.episode_index[rows[0]]]
        return dict(zip(names[first + taken].tolist(), taken.tolist(), strict=True))

    def _unknown_episode(self, where: str, got: str) -> str:
        return (
            f"{where}: expected episodes of this dataset, which has {self.num_episodes} from "
            f"{self.episode_ids[0]} to {self.episode_ids[-1]}; got {got}."
        )

    def __len__(self) -> int:
        return len(self.starts)

    def transitions(self, rows: np.ndarray | slice | None = None) -> Transitions:
        """Some of the transitions, or all, as tensors; the state after a step has no actions.

        Classes are padded to the same number of places in all batches. Only where that are many,
        and most of them empty, a batch has no more than its own transitions need.
        """
        before = self._chosen("transitions", rows)
        widths = self._widths(before)
        return Transitions(
            self._snapshot(before, widths, True), self._snapshot(before + 1, widths, False)
        )

    def padded_bytes(self, rows: np.ndarray | slice | None = None) -> int:
        """How many bytes `transitions` of these rows would take, without making them.

        >>> import oocdm
        >>> data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=60, seed=0)
        >>> data.padded_bytes() == 60 * data.padded_bytes(slice(0, 1))
        True
        """
        before = self._chosen("padded_bytes", rows)
        total = 0
        for c, width in self._widths(before).items():
            for field in self.schema.fields(c).values():
                own = field.size * np.dtype(field.dtype).itemsize + 1  # and whether it is known
                total += (1 if field.action else 2) * width * own
            total += 2 * width
        return total * len(before)

    def _chosen(self, where: str, rows: np.ndarray | slice | None) -> np.ndarray:
        """The steps in which some of the transitions start."""
        if rows is None:
            return self.starts
        chosen = np.zeros(())
        with suppress(IndexError, TypeError, ValueError):
            chosen = self.starts[rows]
        if chosen.ndim != 1:
            raise DataError(
                f"{where}: `rows`: expected a slice, or the numbers of transitions, of which there "
                f"are {len(self)}, got {short(rows)}."
            )
        return chosen

    def _widths(self, before: np.ndarray) -> dict[str, int]:
        """How many places of each class the transitions that start in some rows are padded to."""
        widths = {}
        for c, cells in self.cells.items():
            places = cells.places
            widths[c] = places.width
            if places.is_sparse and places.width > ALWAYS_PADDED:
                own = np.maximum(places.widths[before], places.widths[before + 1])
                widths[c] = int(own.max(initial=min(1, places.width)))
        return widths

    def _snapshot(
        self, rows: np.ndarray, widths: Mapping[str, int], with_actions: bool
    ) -> Snapshot:
        values: dict[str, dict[str, torch.Tensor]] = {}
        observed: dict[str, dict[str, torch.Tensor]] = {}
        present: dict[str, torch.Tensor] = {}
        for c, cls in self.schema.classes.items():
            cells, pad = self.cells[c], self.cells[c].places.padder(rows, widths[c])
            names = [f for f, kind in cls.fields.items() if with_actions or not kind.action]
            present[c] = torch.from_numpy(pad(cells.there))
            values[c] = {f: torch.from_numpy(pad(cells.values[f])) for f in names}
            observed[c] = {f: torch.from_numpy(pad(cells.observed[f])) for f in names}
        return Snapshot(self.schema, values, present, observed)

    @checked(DataError)
    def split(self, fraction: float, seed: Seed) -> tuple[Dataset, Dataset]:
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
        return self._episodes(chosen).without_empty_places()

    def _episodes(self, ids: np.ndarray) -> Dataset:
        return self._take(np.flatnonzero(np.isin(self.episode, ids)))

    def without_empty_places(self) -> Dataset:
        """The same without the places at the end that none of its objects needs.

        >>> import oocdm
        >>> data = oocdm.collect(oocdm.make("mouse", num_traps=0), steps=60, seed=0)
        >>> shapes = [each.present["Trap"].shape for each in (data, data.without_empty_places())]
        >>> shapes
        [(62, 1), (62, 0)]
        """
        used_of = {c: int(each.places.widths.max()) for c, each in self.cells.items()}
        if all(used == self.cells[c].places.width for c, used in used_of.items()):
            return self
        cells, names = {}, {}
        for c, each in self.cells.items():
            used = used_of[c]
            cells[c] = each.map(replace(each.places, width=used), lambda column: column)
            places, pick = self.names[c][0].narrowed(used)
            names[c] = (places, pick(self.names[c][1]))
        return Dataset._of_checked(self.schema, cells, names, **self._columns())

    def _columns(self) -> dict[str, Any]:
        names = ("episode", "step", "reward", "terminated", "truncated", "episodes")
        return {name: getattr(self, name) for name in names}

    @checked(DataError)
    def head(self, n: int) -> Dataset:
        """The first `n` transitions, or all if there are fewer; a cut episode is truncated."""
        if n < 1:
            raise DataError(f"head: expected at least one transition, got {n}.")
        return self if n >= len(self) else self._take(np.arange(self.starts[n - 1] + 2))

    def _take(self, rows: np.ndarray) -> Dataset:
        """The dataset of some rows; a new last row of an episode loses action and outcome."""
        cut = np.append(np.diff(self.episode[rows]) != 0, True) & ~self.is_last[rows]
        is_kept = np.isin(self.episode_ids, self.episode[rows])
        cells = {c: each.take(rows) for c, each in self.cells.items()}
        for c, cls in self.schema.classes.items():
            is_cut = np.repeat(cut, cells[c].places.counts) if cut.any() else slice(0)
            for f in (f for f, kind in cls.fields.items() if kind.action):
                cells[c].values[f][is_cut] = 0
                cells[c].observed[f][is_cut] = False
        terminated = self.terminated[rows] & ~cut
        truncated = self.truncated[rows] & ~cut
        ends = np.flatnonzero(cut) - 1
        truncated[ends] = ~terminated[ends]
        return Dataset._of_checked(
            self.schema,
            cells,
            {c: self._names_in(c, np.flatnonzero(is_kept)) for c in cells},
            episode=self.episode[rows],
            step=self.step[rows],
            reward=np.where(cut, 0, self.reward[rows]).astype(np.float32),
            terminated=terminated,
            truncated=truncated,
            episodes={name: column[is_kept] for name, column in self.episodes.items()},
        )

    def _names_in(self, class_name: str, episodes: np.ndarray) -> RaggedColumn:
        places, pick = self.names[class_name][0].take(episodes)
        return places, pick(self.names[class_name][1])

    def described_by(self, schema: Schema) -> Dataset:
        """The same data with an equal schema, which may say other likelihoods."""
        self.check_schema(schema, "the new schema")
        return Dataset._of_checked(schema, self.cells, self.names, **self._columns())

    @checked(DataError)
    def with_identity(
        self, name: str = "identity", counts: Mapping[str, int] | None = None
    ) -> Dataset:
        """The same with a static field that says which object of its class each one is.

        For worlds whose objects of a class differ: then `oocdm` can tell them apart. The field is a
        `Categorical` with a value for each object, the number of its place; a class with a single
        object needs none. Objects must have the same names in all episodes. `counts` are numbers of
        values where there shall be more of them, as for data with fewer objects than others have.

        >>> import oocdm
        >>> data = oocdm.collect(oocdm.make("block", num_blocks=3), steps=60, seed=0)
        >>> known = data.with_identity()
        >>> list(known.schema.fields("Total"))  # there is but one
        ['s1', 's2', 's3', 't']
        >>> known.transitions(slice(0, 1)).before["Block.identity"]
        tensor([[0, 1, 2]])
        """
        check_steady_names("with_identity", self)
        fields = identity_fields(self, self.cells, name, counts)
        schema = with_fields(self.schema, {c: {name: field} for c, field in fields.items()})
        cells = {
            c: with_numbers(each, name, fields[c]) if c in fields else each
            for c, each in self.cells.items()
        }
        return Dataset._of_checked(schema, cells, self.names, **self._columns())

    def check_schema(self, schema: Schema, what: str) -> None:
        """Raise a `DataError` unless this dataset has the schema of `what` (say, "the model")."""
        difference = self.schema.difference(schema)
        if difference is not None:
            raise DataError(
                f"This dataset does not fit {what}. First difference, dataset against {what}: "
                f"{difference}."
            )

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{c}: {say_objects(cells.places.counts)}" for c, cells in self.cells.items()
        )
        episodes = f"{self.num_episodes:,} episode{'' if self.num_episodes == 1 else 's'}"
        transitions = f"{len(self):,} transition{'' if len(self) == 1 else 's'}"
        return f"Dataset({episodes}, {transitions}; {counts})"


@checked(DataError)
def load_dataset(folder: str | os.PathLike[str]) -> Dataset:
    """Read a folder that `Dataset.save` wrote, or that somebody made in the same format.

    >>> load_dataset("nowhere")
    Traceback (most recent call last):
    ...
    oocdm.errors.DataError: `nowhere`: expected a dataset folder, got none. \
Write one with `Dataset.save` or `oocdm collect`.
    """
    return Dataset.of_log(read_log(folder))
