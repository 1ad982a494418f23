"""Who stands where: the names of objects, for models that know their objects one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oocdm.data.log import Log
from oocdm.errors import DataError


def object_names(data: Log) -> dict[str, list[str]]:
    """The names of the objects of each class, one a place, as the first episode with it has them.

    >>> import oocdm
    >>> object_names(oocdm.collect(oocdm.make("block", num_blocks=2), steps=60, seed=0))
    {'Block': ['0', '1'], 'Total': ['0']}
    """
    found = {}
    for c in data.schema.classes:
        named = _Named.of(data, c)
        _, first = np.unique(named.place, return_index=True)
        found[c] = named.name[first].tolist()
    return found


def check_steady_names(where: str, data: Log) -> None:
    """Raise a `DataError` unless all objects at one place have the same name in all episodes.

    >>> import oocdm
    >>> check_steady_names("fit", oocdm.collect(oocdm.make("mouse"), steps=60, seed=0))
    """
    for c in data.schema.classes:
        named = _Named.of(data, c)
        _, first, at = np.unique(named.place, return_index=True, return_inverse=True)
        others = np.flatnonzero(named.name != named.name[first][at])
        if len(others):
            cells = [first[at[others[0]]], others[0]]
            usual, other = named.name[cells]
            episodes = data.episode_ids[named.row[cells]]
            raise DataError(
                f"{where}: expected the same objects of class `{c}` in every episode, got "
                f"`{usual}` at place {named.place[others[0]]} in episode {episodes[0]} and "
                f"`{other}` in episode {episodes[1]}. Objects are known one by one here, in the "
                "order of their names: give each one the same name in all episodes, or take "
                "`oocdm` or `oofull`, for which the objects of a class are alike."
            )


def check_object_names(
    where: str, data: Log, names: Mapping[str, Sequence[str]], any_number: bool = False
) -> None:
    """Raise a `DataError` if an object of a dataset stands where `names` have another one.

    Numbers that only count the places, as those of collected data, tell nothing of other names.
    With `any_number` there may be fewer objects or more, as long as those that are in both agree.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=60, seed=0)
    >>> check_object_names("evaluate", data, object_names(data))
    >>> check_object_names("evaluate", data, {"Block": ["1", "2"]})
    Traceback (most recent call last):
    ...
    oocdm.errors.DataError: evaluate: expected object `1` of class `Block` at place 0, as in \
training, got `0` in episode 0. This model knows its objects one by one, in the order of their \
names: name them as in training, or fit anew; methods `oocdm` and `oofull` take any objects.
    """
    for c, expected in names.items():
        num = len(expected)
        if not num or (not any_number and (data.cells[c].places.counts != num).any()):
            continue  # other numbers of objects, which the model itself refuses
        named = _Named.of(data, c)
        is_shared = named.place < num
        ids = np.full((data.num_episodes, num), "", dtype=object)  # empty where there is none
        ids[named.row[is_shared], named.place[is_shared]] = named.name[is_shared]
        for found in np.unique(ids.astype(str), axis=0).tolist():
            here = [i for i, name in enumerate(found) if name]
            said, trained = [found[i] for i in here], [expected[i] for i in here]
            if _are_others(trained, said):
                place = next(i for i in here if expected[i] != found[i])
                episode = data.episode_ids[(ids == found).all(1)][0]
                raise DataError(
                    f"{where}: expected object `{expected[place]}` of class `{c}` at place "
                    f"{place}, as in training, got `{found[place]}` in episode {episode}. This "
                    "model knows its objects one by one, in the order of their names: name them "
                    "as in training, or fit anew; methods `oocdm` and `oofull` take any objects."
                )


@dataclass(frozen=True)
class _Named:
    """The objects of a class in all episodes: an entry for each place that an episode needs."""

    row: np.ndarray  # of the episode
    place: np.ndarray
    name: np.ndarray  # as text

    @staticmethod
    def of(data: Log, class_name: str) -> _Named:
        places, names = data.names[class_name]
        row = places.row
        is_used = places.place < data.num_places(class_name)[row]
        return _Named(row[is_used], places.place[is_used], names[is_used].astype(str))


def _are_others(expected: list[str], found: list[str]) -> bool:
    places = [str(i) for i in range(len(expected))]
    if places in (expected, found):
        return expected != found and all(name.isdigit() for name in (*expected, *found))
    return expected != found
