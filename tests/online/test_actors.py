"""Planner and chance, acting by turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oocdm import RandomAgent
from oocdm.online.actors import AgentActor, ExploringActor
from oocdm.worlds.actor import AbstractActor
from tests.data.mistakes import fails
from tests.online.toys import Carts


class Fixed(AbstractActor):
    """Pushes each cart by a hundredth of its world's number."""

    title = "the fixed"

    def __init__(self) -> None:
        self.num_worlds = 0

    def reset(self, num_worlds: int) -> None:
        self.num_worlds = num_worlds

    def act(self, state: Any, seen: Any, worlds: np.ndarray, rng: Any) -> Any:
        return {"Cart": {"push": np.tile(worlds[:, None] / 100, (1, 2))}}


def acting(actor: AbstractActor, worlds: np.ndarray) -> np.ndarray:
    world, rng = Carts(), np.random.default_rng(0)
    state = world.reset(len(worlds), rng)
    push: np.ndarray = actor.act(state, state, worlds, rng)["Cart"]["push"]
    return push


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_share_of_the_steps_is_random(share: float) -> None:
    worlds = np.arange(100)
    push = acting(ExploringActor(Fixed(), Carts(), share), worlds)
    is_fixed = np.isclose(push, worlds[:, None] / 100).all(1)
    assert abs((~is_fixed).mean() - share) < 0.12
    assert (np.abs(push) <= 1).all() and push.dtype == np.float32


def test_worlds_keep_their_numbers() -> None:
    actor = ExploringActor(Fixed(), Carts(), 0.5)
    actor.reset(9)
    assert isinstance(actor.actor, Fixed) and actor.actor.num_worlds == 9
    push = acting(actor, np.array([90, 95] * 20))
    assert {0.9, 0.95} <= {round(float(value), 2) for value in push[:, 0]}


def test_an_agent_acts() -> None:
    actor = AgentActor(RandomAgent(Carts()), Carts.schema)
    actor.reset(5)
    assert acting(actor, np.arange(5)).shape == (5, 2)


class Broken(Fixed):
    def act(self, state: Any, seen: Any, worlds: np.ndarray, rng: Any) -> Any:
        return {"Cart": {"push": np.zeros(len(worlds))}}


def test_wrong_shapes_are_told_before_they_are_mixed() -> None:
    with fails("collect: the fixed actions for `Cart.push`: expected an array of shape"):
        acting(ExploringActor(Broken(), Carts(), 0.5), np.arange(20))
