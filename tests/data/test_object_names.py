"""Who stands where: names that fit, names that do not, numbers that only count."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from oocdm import DataError, Dataset, collect, make
from oocdm.data.object_names import check_object_names, check_steady_names, object_names
from tests.methods.differing import balls

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


def test_steady_names() -> None:
    check_steady_names("fit", named("a", "b"))
    check_steady_names("fit", collect(make("mouse", num_traps=(0, 3)), steps=200, seed=0))
    ids = named("a", "b").object_ids["Block"].copy()
    ids[-1] = ["b", "a"]  # the same ones, in another order
    data = replace(DATA, object_ids={**DATA.object_ids, "Block": ids})
    last = DATA.episode_ids[-1]
    message = (
        "fit: expected the same objects of class `Block` in every episode, got `a` at place 0 in "
        f"episode 0 and `b` in episode {last}. Objects are known one by one here, in the order of "
        "their names: give each one the same name in all episodes, or take `oocdm` or `oofull`, "
        "for which the objects of a class are alike."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        check_steady_names("fit", data)


def test_names_of_a_world_whose_numbers_vary_are_those_of_its_largest_episode() -> None:
    data = collect(make("mouse", num_traps=(0, 3)), steps=200, seed=0)
    assert object_names(data)["Trap"] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("trained", "given", "fits"),
    [
        (("a", "b"), ("a",), True),
        (("a", "b"), ("a", "b", "c"), True),
        (("a", "b"), ("b",), False),
        (("a",), ("b", "c"), False),
        ((0, 1), (0, 1, 2), True),
    ],
)
def test_any_number_of_them(trained: tuple[str, ...], given: tuple[str, ...], fits: bool) -> None:
    names, data = {"Ball": [str(name) for name in trained]}, balls(0, 2, list(map(str, given)))
    check_object_names("evaluate", data, names)  # which the model itself would refuse
    if fits:
        check_object_names("evaluate", data, names, any_number=True)
    else:
        with pytest.raises(DataError, match=f"^evaluate: expected object `{trained[0]}` of class"):
            check_object_names("evaluate", data, names, any_number=True)


def test_other_numbers_of_objects_are_the_model_s_to_refuse() -> None:
    check_object_names("evaluate", DATA, {"Block": ["a", "b", "c"], "Total": []})
