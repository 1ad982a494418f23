"""What the functions of a world must return."""

from __future__ import annotations

import numpy as np
import pytest

from oocdm.worlds import WorldState, collect
from oocdm.worlds.world_checks import step_problems
from tests.data.mistakes import fails

STEP = "collect: ToyWorld.step: "


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda state, reward, ended: (state, reward.sum(), ended),
            f"{STEP}reward: expected an array of shape (2,), a number a world, got shape (). Sum "
            "over objects, as x.sum(axis=1), not over worlds.",
        ),
        (
            lambda state, reward, ended: (state, reward[:, None], ended),
            f"{STEP}reward: expected an array of shape (2,), a number a world, got shape (2, 1).",
        ),
        (
            lambda state, reward, ended: (state, reward, False),
            f"{STEP}terminated: expected an array of shape (2,) and dtype bool, one a world, got "
            "shape () and dtype bool. If episodes never end, return np.zeros(2, bool).",
        ),
        (
            lambda state, reward, ended: (state, reward, ended.astype(int)),
            f"{STEP}terminated: expected an array of shape (2,) and dtype bool, one a world, got "
            "shape (2,) and dtype int64.",
        ),
        (
            lambda state, reward, ended: (state, reward, ended.tolist()),
            f"{STEP}terminated: expected an array of shape (2,) and dtype bool, one a world, got "
            "shape (2,) and dtype list.",
        ),
        (
            lambda state, reward, ended: (state, reward, ended, ended, {}),
            f"{STEP}expected a tuple of the next state, reward and terminated, got 5 values.",
        ),
        (
            lambda state, reward, ended: state,
            f"{STEP}expected a tuple of the next state, reward and terminated, got WorldState.",
        ),
        (
            lambda state, reward, ended: ({}, reward, ended),
            f"{STEP}expected a WorldState, got dict.",
        ),
    ],
)
def test_what_a_step_must_return(make_world, change, message):
    world = make_world(end=0)
    step = world.step
    world.step = lambda *given: change(*step(*given))
    with fails(message):
        collect(world, 16)


def without(table, name):
    return {c: value for c, value in table.items() if c != name}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda state: WorldState(without(state.values, "Hill"), state.present),
            "values['Hill']['height']: expected an array of shape (2, 1) (world, object, ...), got "
            "nothing. A state has every field of the schema but the actions.",
        ),
        (
            lambda state: WorldState(state.values, without(state.present, "Hill")),
            "present['Hill']: expected booleans of shape (2, objects), got nothing. It says which "
            "objects there are in each world.",
        ),
        (
            lambda state: WorldState(
                {**state.values, "Hill": {"height": np.ones(2)}}, state.present
            ),
            "values['Hill']['height']: expected an array of shape (2, 1) (world, object, ...), got "
            "shape (2,).",
        ),
        (
            lambda state: state.select([0]),
            "present['Ant']: expected booleans of shape (2, objects), got shape (1, 6).",
        ),
    ],
)
def test_what_a_state_must_have(make_world, change, message):
    world = make_world(end=0)
    reset = world.reset
    world.reset = lambda *given: change(reset(*given))
    with fails(f"collect: ToyWorld.reset: {message}"):
        collect(world, 16)
    world = make_world(end=0)
    world.observe = lambda state, rng: change(state)
    with fails(f"collect: ToyWorld.observe: {message}"):
        collect(world, 16)


def test_what_the_random_policy_must_return(make_world):
    world = make_world()
    world.random_actions = lambda state, rng: {"Ant": {}}
    with fails(
        "collect: ToyWorld.random_actions: actions for `Ant.push`: expected an array of shape "
        "(13, 6) (world, object, ...), got nothing. Return {class: {field: array}}."
    ):
        collect(world, 100)


def test_rewards_are_finite():
    reward = np.array([1.0, np.inf, -np.inf])
    assert list(step_problems("Balls.step", (None, reward, np.zeros(3, bool)), 3)) == [
        "Balls.step: reward: expected finite numbers, got inf in 2 of 3 worlds. Look for divisions "
        "by 0, logarithms and roots."
    ]


def test_rewards_are_numbers():
    reward = np.array([1.0, None])
    assert list(step_problems("Balls.step", (None, reward, np.zeros(2, bool)), 2)) == [
        "Balls.step: reward: expected numbers, got an array of dtype object."
    ]
