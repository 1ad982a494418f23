"""Who stands where: the names of objects, for models that know their objects one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.errors import DataError


def object_names(data: Dataset) -> dict[str, list[str]]:
    """The names of the objects of each class, one a place, as the first episode has them.

    >>> import oocdm
    >>> object_names(oocdm.collect(oocdm.make("block", num_blocks=2), steps=60, seed=0))
    {'Block': ['0', '1'], 'Total': ['0']}
    """
    return {
        c: [str(name) for name in names[: min(places.counts[0], data.max_counts[c])]]
        for c, (places, names) in data.names.items()
    }


def check_object_names(where: str, data: Dataset, names: Mapping[str, Sequence[str]]) -> None:
    """Raise a `DataError` if an object of a dataset stands where `names` have another one.

    Numbers that only count the places, as those of collected data, tell nothing of other names.

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
        if not expected or (data.cells[c].places.counts != len(expected)).any():
            continue  # other numbers of objects, which the model itself refuses
        places, logged = data.names[c]
        ids = logged[places.starts[:, None] + np.arange(len(expected))].astype(str)
        for found in np.unique(ids, axis=0).tolist():
            if _are_others(list(expected), found):
                place = next(i for i, name in enumerate(expected) if name != found[i])
                episode = data.episode_ids[(ids == found).all(1)][0]
                raise DataError(
                    f"{where}: expected object `{expected[place]}` of class `{c}` at place "
                    f"{place}, as in training, got `{found[place]}` in episode {episode}. This "
                    "model knows its objects one by one, in the order of their names: name them "
                    "as in training, or fit anew; methods `oocdm` and `oofull` take any objects."
                )


def _are_others(expected: list[str], found: list[str]) -> bool:
    places = [str(i) for i in range(len(expected))]
    if places in (expected, found):
        return expected != found and all(name.isdigit() for name in (*expected, *found))
    return expected != found
