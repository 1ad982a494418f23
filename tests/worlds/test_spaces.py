"""Spaces of worlds of objects; environments test the rest of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from oocdm.errors import DataError
from oocdm.schema import Categorical, Integer, ObjectClass, Real, Schema
from oocdm.worlds.spaces import action_space, observation_of, observation_space, read_action
from oocdm.worlds.world import WorldState


class Pump(ObjectClass):
    heat = Real(2.0, 3.0)
    level = Integer(high=-1)
    speed = Real(2.0, 3.0, shape=(2,), action=True)
    gear = Integer(1, 5, action=True)


SCHEMA = Schema(Pump)


def test_absent_objects_are_seen_as_0_which_lies_in_the_space() -> None:
    space = observation_space(SCHEMA, {"Pump": 2})
    assert space["Pump"]["heat"] == spaces.Box(0.0, 3.0, (2,), np.float32)
    state = WorldState(
        {"Pump": {"heat": np.array([2.5, 0.0]), "level": np.array([-4, 0])}},
        {"Pump": np.array([True, False])},
    )
    assert observation_of(SCHEMA, state) in space


def test_every_sampled_action_is_allowed() -> None:
    space = action_space(SCHEMA, {"Pump": 2})
    assert space["Pump"]["speed"] == spaces.Box(2.0, 3.0, (2, 2), np.float32)
    assert space["Pump"]["gear"] == spaces.Box(1, 5, (2,), np.int64)
    space.seed(0)
    for _ in range(20):
        read_action(SCHEMA, space.sample(), {"Pump": np.array([True, True])})


def test_what_absent_objects_do_is_not_looked_at() -> None:
    present = {"Pump": np.array([[True, False], [False, False]])}
    action = {"speed": np.full((2, 2, 2), 2.5), "gear": np.array([[1, 99], [-7, 0]])}
    action["speed"][:, 1] = np.nan
    read = read_action(SCHEMA, {"Pump": action}, present)["Pump"]
    assert read["gear"].tolist() == [[1, 0], [0, 0]]
    assert read["speed"][0].tolist() == [[2.5, 2.5], [0.0, 0.0]]


def test_actions_of_many_worlds_are_checked() -> None:
    present = {"Pump": np.ones((2, 1), bool)}
    action = {"speed": np.full((2, 1, 2), 2.5), "gear": np.array([[1], [9]])}
    message = (
        "Action `Pump.gear`: expected a whole number from 1 to 5, got 9. The schema declares what "
        "the field allows."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        read_action(SCHEMA, {"Pump": action}, present)
    action["gear"] = np.array([1, 1])
    message = "Action `Pump.gear`: expected shape (2, 1), got (2,)."
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        read_action(SCHEMA, {"Pump": action}, present)


class Lift(ObjectClass):
    x = Real()
    go = Categorical(["up", "stay", "down"], action=True)
    floor = Integer(0, 5, action=True)


@pytest.mark.parametrize(
    ("lift", "expected"),
    [
        ({"go": ["down", "up"], "floor": [1, 5]}, [[2, 0], [1, 5]]),
        ({"go": [2.0, 0.0], "floor": [1.0, 5.0]}, [[2, 0], [1, 5]]),
        ({"go": ["dwn", "up"], "floor": [1, 5]}, "unknown value 'dwn'. Did you mean `down`?"),
        ({"go": [0.9, 1], "floor": [1, 5]}, "expected a whole number from 0 to 2, got 0.9."),
        ({"go": [0, 1], "floor": [[1], [2, 3]]}, "expected a whole number from 0 to 5, got [[1]"),
        (3, "Action: expected a dictionary of fields of `Lift` (go, floor), got 3."),
        (None, "Action: expected a dictionary of fields of `Lift` (go, floor), got None."),
    ],
)
def test_choices_may_be_named_but_not_halved(lift: Any, expected: Any) -> None:
    present = {"Lift": np.ones(2, bool)}
    if isinstance(expected, str):
        with pytest.raises(DataError, match=re.escape(expected)):
            read_action(Schema(Lift), {"Lift": lift}, present)
    else:
        read = read_action(Schema(Lift), {"Lift": lift}, present)["Lift"]
        assert [read["go"].tolist(), read["floor"].tolist()] == expected
        assert read["go"].dtype == np.int64
