"""States of many worlds, and the world within what is given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

import oocdm
from oocdm.errors import DataError
from oocdm.worlds import WorldState
from oocdm.worlds.world import world_of
from tests.worlds.balls import Balls


def test_some_worlds_of_a_state() -> None:
    state = Balls().reset(5, np.random.default_rng(0))
    some = state.select(np.array([3, 1]))
    np.testing.assert_array_equal(some.values["Ball"]["v"], state.values["Ball"]["v"][[3, 1]])
    np.testing.assert_array_equal(some.present["Ball"], state.present["Ball"][[3, 1]])
    remembered = WorldState({}, {}, {"engine": np.arange(10).reshape(5, 2)})
    assert remembered.select(np.array([3, 1])).memory["engine"].tolist() == [[6, 7], [2, 3]]
    one = state.select(2)
    assert one.values["Ball"]["v"].shape == (3, 2) and one.present["Wall"].shape == (1,)


def test_a_world_is_seen_as_it_is_unless_it_says_otherwise() -> None:
    state = WorldState({}, {})
    assert Balls().observe(state, np.random.default_rng(0)) is state


def test_the_world_of_an_environment() -> None:
    env = oocdm.make("mouse")
    assert world_of("collect", env, DataError) is env.unwrapped.world
    assert world_of("collect", gymnasium.wrappers.TimeLimit(env, 5), DataError) is env.world
    world = Balls()
    assert world_of("collect", world, DataError) is world


@pytest.mark.parametrize(
    "given", ["mouse", None, SimpleNamespace(unwrapped=SimpleNamespace(world="mouse"))]
)
def test_what_has_no_world(given: Any) -> None:
    message = (
        "^collect: expected an environment from oocdm.make or an oocdm.AbstractWorld, got "
        rf"{type(given).__name__}\. Give one\.$"
    )
    with pytest.raises(DataError, match=message):
        world_of("collect", given, DataError, "Give one.")
