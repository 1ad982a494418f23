"""Warnings about classes whose episodes or steps do not match; and none where all is well."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import oocdm
from oocdm.data import Dataset, load_dataset
from oocdm.data.matching import warn_of_mismatch
from oocdm.schema import ObjectClass, Real, Schema


class Car(ObjectClass):
    v = Real()


class Rain(ObjectClass):
    v = Real()


SCHEMA = Schema(Car, Rain)


def log(num_objects=2, num_episodes=3, num_steps=9):
    shape = (num_episodes, num_steps, num_objects)
    episode, step, number = (i.ravel() for i in np.indices(shape))
    return pd.DataFrame({"episode": episode, "step": step, "object": number, "v": 0.0})


def warnings_of(caplog, cars, rain, **tables):
    Dataset.from_frames({"Car": cars, "Rain": rain}, SCHEMA, **tables)
    return caplog.messages


def test_an_episode_that_a_class_lacks(caplog):
    rain = log(1)
    found = warnings_of(caplog, log(), rain.assign(episode=rain.episode + 1))
    assert found == [
        "Class `Car` has no object in 1 of 4 episodes, though other classes have; the first is "
        "episode 3. If it should be there, check that the column `episode` means the same in the "
        "frames of all classes.",
        "Class `Rain` has no object in 1 of 4 episodes, though other classes have; the first is "
        "episode 0. If it should be there, check that the column `episode` means the same in the "
        "frames of all classes.",
    ]


@pytest.mark.parametrize(("every", "offset"), [(2, 0), (2, 1), (3, 0), (3, 2)])
def test_a_class_that_is_logged_less_often(caplog, every, offset):
    rain = log(2)
    is_there = (rain.step % every == offset) | (rain.episode == 0)
    assert warnings_of(caplog, log(), rain[is_there]) == [
        f"Class `Rain` is there in only one of {every} steps, throughout 2 of 3 episodes; the "
        "first is episode 1. If it is logged less often than other classes, repeat its rows in the "
        "steps between: what is absent in the next step is not learned."
    ]


def test_a_table_of_steps_does_not_hide_it(caplog):
    steps = log(1)[["episode", "step"]]
    every_other = log()[lambda frame: frame.step % 2 == 0]
    assert len(warnings_of(caplog, every_other, every_other, steps=steps)) == 2


@pytest.mark.parametrize(
    "is_there",
    [
        lambda rain: rain.step > 3,
        lambda rain: rain.step % 5 != 1,
        lambda rain: (rain.step + rain.object) % 2 == 0,  # each of them blinks, but not the class
        lambda rain: rain.step.isin([0, 2, 4, 6]),  # not to the end
        lambda rain: rain.step.isin([0, 8]),
        lambda rain: rain.object == rain.episode % 2,
        lambda rain: rain.step < 0,  # a class without any object
    ],
)
def test_objects_that_come_and_go(caplog, is_there):
    assert warnings_of(caplog, log(), log()[is_there]) == []


def test_steps_without_any_object(caplog):
    steps = log(1, num_episodes=5)[["episode", "step"]]
    assert warnings_of(caplog, log(), log(1), steps=steps) == []


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("block", {"num_blocks": None}),
        ("mouse", {"num_food": (0, 2), "num_monsters": (0, 1), "num_traps": (0, 1)}),
        ("mouse", {"tasks": "seen"}),
        ("generated", {"world_seed": 4}),
    ],
)
def test_our_own_worlds(caplog, tmp_path, name, options):
    data = oocdm.collect(oocdm.make(name, **options), steps=600)
    data.save(tmp_path / "data")
    load_dataset(tmp_path / "data").split(0.5, seed=0)
    assert caplog.messages == []
    caplog.clear()
    warn_of_mismatch(data)  # even then, none of them blinks
    assert not any("throughout" in message for message in caplog.messages)
