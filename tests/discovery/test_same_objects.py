"""Whether single variables mean the same in all data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import oocdm
from oocdm.data import Dataset
from oocdm.discovery.same_objects import check_same_objects
from oocdm.errors import DataError
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()


class Wall(ObjectClass):
    x = Real()


def of_balls(*objects: str) -> Dataset:
    """A step a word, whose letters are the balls that are there."""
    rows = [(step, name) for step, names in enumerate(objects) for name in names]
    frame = pd.DataFrame(rows, columns=["step", "object"]).assign(episode=0, x=0.0)
    return Dataset.from_frames({"Ball": frame, "Wall": frame[:0]}, Schema(Ball, Wall))


def test_the_same_objects_and_classes_without_any() -> None:
    check_same_objects(of_balls("ab", "ab"), "fit", "Do not.")


@pytest.mark.parametrize(
    ("objects", "got"),
    [(("ab", "ab", "a"), "1 to 2 in 2 places"), (("ab", "a", "b"), "1 to 2 in 2 places")],
)
def test_objects_that_come_and_go(objects: tuple[str, ...], got: str) -> None:
    message = rf"^fit: expected the same objects of class `Ball` in every step, got {got}\. Do not"
    with pytest.raises(DataError, match=message):
        check_same_objects(of_balls(*objects), "fit", "Do not.")


def test_objects_that_take_turns() -> None:
    with pytest.raises(DataError, match="got 1 to 1 in 2 places"):
        check_same_objects(of_balls("a", "b"), "fit", "Do not.")


def test_other_names_in_other_episodes() -> None:
    data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=90, seed=0)
    ids = np.tile(np.array(["a", "b"], object), (data.num_episodes, 1))
    ids[1:] = ["a", "c"]
    renamed = replace(data, object_ids={**data.object_ids, "Block": ids})
    message = (
        r"^fit: expected the same objects of class `Block` in every episode, got others in "
        rf"episode {data.episode_ids[1]}\. Do not\.$"
    )
    with pytest.raises(DataError, match=message):
        check_same_objects(renamed, "fit", "Do not.")
