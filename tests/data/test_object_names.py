"""Who stands where: names that fit, names that do not, numbers that only count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oocdm import DataError, Dataset, collect, make
from oocdm.data.object_names import check_object_names, object_names

DATA = collect(make("block", num_blocks=2), steps=90, seed=0)


def named(*names: str | int) -> Dataset:
    """The same data, with other names of the two blocks."""
    ids = np.tile(np.array(names, dtype=object), (DATA.num_episodes, 1))
    return replace(DATA, object_ids={**DATA.object_ids, "Block": ids})


def test_names_are_kept_by_place() -> None:
    assert object_names(named("left", "right")) == {"Block": ["left", "right"], "Total": ["0"]}


@pytest.mark.parametrize(
    ("trained", "given"),
    [
        (("a", "b"), ("a", "b")),
        ((0, 1), (0, 1)),
        (("0", "1"), (0, 1)),  # as some files give them back
        # Collected data have no names: their places are all there is.
        (("a", "b"), (0, 1)),
        ((0, 1), ("a", "b")),
    ],
)
def test_what_fits(trained: tuple[str, ...], given: tuple[str, ...]) -> None:
    check_object_names("evaluate", named(*given), object_names(named(*trained)))


@pytest.mark.parametrize(
    ("trained", "given", "place"),
    [
        (("pump", "valve"), ("a_valve", "pump"), 0),
        (("a", "b"), ("a", "c"), 1),
        ((1, 2), (0, 1), 0),
        ((0, 1), (0, 7), 1),
        ((1, 2), ("a", "b"), 0),
    ],
)
def test_what_does_not_fit(trained: tuple[str, ...], given: tuple[str, ...], place: int) -> None:
    message = (
        rf"^evaluate: expected object `{trained[place]}` of class `Block` at place {place}, as in "
        rf"training, got `{given[place]}` in episode 0\. This model knows its objects one by one"
    )
    with pytest.raises(DataError, match=message):
        check_object_names("evaluate", named(*given), object_names(named(*trained)))


def test_every_episode_is_looked_at() -> None:
    ids = named("a", "b").object_ids["Block"].copy()
    ids[-1] = ["b", "c"]
    data = replace(DATA, object_ids={**DATA.object_ids, "Block": ids})
    with pytest.raises(DataError, match=f"got `b` in episode {DATA.episode_ids[-1]}"):
        check_object_names("discover", data, {"Block": ["a", "b"]})


def test_other_numbers_of_objects_are_the_model_s_to_refuse() -> None:
    check_object_names("evaluate", DATA, {"Block": ["a", "b", "c"], "Total": []})
