"""Flat vectors of observations and actions."""

from __future__ import annotations

import re

import numpy as np
import pytest
from gymnasium import spaces

from oocdm.errors import PlanError
from oocdm.learned.flat_spaces import FlatSpaces
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema
from oocdm.worlds.spaces import read_action


class Robot(ObjectClass):
    heat = Real(2.0, 6.0)
    x = Real(low=0.0)
    cell = Integer(0, 4, shape=(2,))
    mood = Categorical(["good", "bad", "ugly"])


class Lamp(ObjectClass):
    lit = Boolean(static=True)
    switch = Boolean(action=True)


def flat(**actions: object) -> FlatSpaces:
    mover = type("Mover", (ObjectClass,), {"x": Real(), **actions})
    return FlatSpaces(Schema(mover), {"Mover": 2})


def test_observations_by_hand() -> None:
    spaces_ = FlatSpaces(Schema(Robot, Lamp), {"Robot": 2, "Lamp": 1})
    seen = {
        # In another order than the schema's, as a true world may give them.
        "Lamp": {"lit": np.array([[1]]), "present": np.array([[1]], np.int8)},
        "Robot": {
            "present": np.array([[1, 0]], np.int8),
            "mood": np.array([[2, 0]]),
            "heat": np.array([[3.0, 0.0]], np.float32),
            "x": np.array([[70.0, 0.0]], np.float32),
            "cell": np.array([[[0, 3], [0, 0]]]),
        },
    }
    found = spaces_.observe(seen)
    expected = [-0.5, 0, 70, 0, -1, 0.5, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1]
    np.testing.assert_allclose(found, [expected])
    assert found.dtype == np.float32
    assert found[0] in spaces_.observation_space


def test_one_choice_is_discrete() -> None:
    mover = type("Mover", (ObjectClass,), {"x": Real(), "move": Categorical(5, action=True)})
    one = FlatSpaces(Schema(mover), {"Mover": 1})
    assert one.action_space == spaces.Discrete(5)
    assert one.read(np.array([3, 0]))["Mover"]["move"].tolist() == [[3], [0]]


def test_several_choices_are_multi_discrete() -> None:
    both = flat(move=Categorical(5, action=True), hop=Boolean(action=True))
    assert both.action_space == spaces.MultiDiscrete([5, 5, 2, 2])
    read = both.read(np.array([[4, 0, 1, 0]]))["Mover"]
    assert read["move"].tolist() == [[4, 0]] and read["hop"].tolist() == [[1, 0]]


def test_numbers_are_scaled_to_their_ends() -> None:
    both = flat(push=Real(2.0, 6.0, shape=(2,), action=True), climb=Integer(-3, 3, action=True))
    assert both.action_space == spaces.Box(-1, 1, (6,), np.float32)
    read = both.read(np.array([[-1, 1, 0, 7, -0.7, 0.99], [0] * 6], np.float32))["Mover"]
    assert read["push"][0].tolist() == [[2.0, 6.0], [4.0, 6.0]]
    assert read["climb"].tolist() == [[-2, 3], [0, 0]]
    assert (read["push"].dtype, read["climb"].dtype) == (np.float32, np.int64)


def test_open_numbers_stay_as_they_are() -> None:
    hope = flat(hope=Real(action=True))
    assert hope.action_space == spaces.Box(-np.inf, np.inf, (2,), np.float32)
    assert hope.read(np.array([[70.0, -3.0]]))["Mover"]["hope"].tolist() == [[70.0, -3.0]]


def test_choices_beside_numbers_are_scores() -> None:
    mixed = flat(push=Real(-2.0, 2.0, action=True), move=Categorical(3, action=True))
    assert mixed.action_space == spaces.Box(-1, 1, (2 + 6,), np.float32)
    read = mixed.read(np.array([[0.5, -1, 0, 0.1, 0, -1, -1, 1]]))["Mover"]
    assert read["push"].tolist() == [[1.0, -2.0]] and read["move"].tolist() == [[1, 2]]


def test_whatever_an_agent_does_is_allowed() -> None:
    """Every point of the flat space becomes an action that worlds take."""
    everything = {
        "push": Real(0.1, 0.7, shape=(3,), action=True),
        "climb": Integer(-3, 3, action=True),
        "paint": Categorical(4, action=True),
        "hop": Boolean(action=True),
        "up": Real(low=0.3, high=1.0, action=True),
    }
    both = flat(**everything)
    both.action_space.seed(0)
    samples = np.stack([both.action_space.sample() for _ in range(300)])
    ends = np.stack([both.action_space.low, both.action_space.high])  # type: ignore[attr-defined]
    actions = both.read(np.concatenate([samples, ends]))
    read_action(both.schema, actions, {"Mover": np.ones((302, 2), bool)})


def test_nothing_to_choose() -> None:
    message = (
        "Schema(Robot(heat, x, cell, mood)): expected at least one action field, got none, so "
        "there is nothing to learn. Declare what can be chosen, such as push = Real(action=True)."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        FlatSpaces(Schema(Robot), {"Robot": 1})


def test_ends_stay_inside_the_space() -> None:
    class Dial(ObjectClass):
        angle = Real(0.1, 0.3)
        turn = Real(-1.0, 1.0, action=True)

    dials = FlatSpaces(Schema(Dial), {"Dial": 2})
    angle = np.array([[0.1, 0.3]], np.float32)
    seen = dials.observe({"Dial": {"angle": angle, "present": np.ones((1, 2), np.int8)}})
    assert dials.observation_space.contains(seen[0])
    message = (
        "Flat action: expected 2 numbers a world, got 5. They are those of Box(-1.0, 1.0, (2,)"
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}"):
        dials.read(np.zeros((1, 5)))
