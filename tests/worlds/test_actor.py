"""Who acts, and which actions are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oocdm.schema import Categorical, ObjectClass, Real, Schema
from oocdm.worlds.actor import PolicyActor, RandomActor, check_actions
from tests.data.mistakes import fails


class Boat(ObjectClass):
    x = Real()
    turn = Real(-1.0, 1.0, action=True)
    sail = Categorical(["up", "down"], action=True)


SCHEMA = Schema(Boat)
PRESENT = {"Boat": np.array([[True, True], [True, False]])}


def actions(turn: Any = 0.0, sail: Any = 1) -> Any:
    zeros = np.zeros((2, 2))
    return {"Boat": {"turn": zeros + turn, "sail": zeros + sail}}


def check(found: Any) -> None:
    check_actions("the pilot's", SCHEMA, found, PRESENT)


def test_what_objects_that_are_there_may_do() -> None:
    check(actions())
    check(actions(turn=np.array([[1, -1], [0.5, np.nan]])))  # nobody is at the last place


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"turn": np.nan}, "`Boat.turn`: expected a finite number from -1.0 to 1.0, got nan."),
        ({"turn": 1.5}, "`Boat.turn`: expected a finite number from -1.0 to 1.0, got 1.5."),
        ({"turn": np.zeros((3, 2, 2))}, "`Boat.turn`: expected an array of shape (2, 2) (world"),
        ({"sail": 2}, "`Boat.sail`: expected "),
        ({"sail": 0.5}, "`Boat.sail`: expected "),
    ],
)
def test_what_is_refused(wrong: dict[str, Any], message: str) -> None:
    with fails(f"the pilot's actions for {message}"):
        check(actions(**wrong))
    with fails("the pilot's actions for `Boat.turn`: expected an array"):
        check({"Boat": {"sail": np.zeros((2, 2))}})


def test_random_actors_see_the_state_and_policies_what_is_logged(make_world: Any) -> None:
    world, rng = make_world(), np.random.default_rng(0)
    state = world.reset(3, rng)
    seen = state.select(np.arange(3))
    asked: list[Any] = []

    def policy(each: Any, rng: np.random.Generator) -> Any:
        asked.append(each)
        return {}

    PolicyActor(policy).act(state, seen, np.arange(3), rng)
    assert asked == [seen]
    one, other = (np.random.default_rng(1) for _ in range(2))
    found = RandomActor(world).act(state, seen, np.arange(3), one)
    expected = world.random_actions(state, other)
    assert np.array_equal(found["Ant"]["push"], expected["Ant"]["push"])
