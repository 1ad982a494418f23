"""Who acts in worlds whose steps are logged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import final

import numpy as np

from oocdm.data.log import Arrays
from oocdm.data.values import check_allowed, read_numbers
from oocdm.errors import DataError
from oocdm.schema import Schema
from oocdm.worlds.world import AbstractWorld, WorldState
from oocdm.worlds.world_checks import action_problems

Policy = Callable[[WorldState, np.random.Generator], Arrays]


class AbstractActor(ABC):
    """Acts in episodes side by side; `title` begins what is said of its actions."""

    title: str

    def reset(self, num_worlds: int) -> None:  # noqa: B027, most have nothing to forget
        """Episodes start in so many worlds."""

    @abstractmethod
    def act(
        self, state: WorldState, seen: WorldState, worlds: np.ndarray, rng: np.random.Generator
    ) -> Arrays:
        """The actions in the worlds of those numbers, which have not ended.

        `state` is theirs, with all that their simulator keeps; `seen` is what is logged of it.
        """


@final
class RandomActor(AbstractActor):
    """The random policy of a world.

    >>> import oocdm
    >>> RandomActor(oocdm.make("mouse").world).title
    'MouseWorld.random_actions:'
    """

    def __init__(self, world: AbstractWorld) -> None:
        self.world = world
        self.title = f"{type(world).__name__}.random_actions:"

    def act(
        self, state: WorldState, seen: WorldState, worlds: np.ndarray, rng: np.random.Generator
    ) -> Arrays:
        """Actions as the world draws them."""
        return self.world.random_actions(state, rng)


@final
class PolicyActor(AbstractActor):
    """A user's function of what is logged of the states.

    >>> PolicyActor(lambda state, rng: {}).title
    "the policy's"
    """

    title = "the policy's"

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def act(
        self, state: WorldState, seen: WorldState, worlds: np.ndarray, rng: np.random.Generator
    ) -> Arrays:
        """What the function returns."""
        return self.policy(seen, rng)


def check_actions(
    where: str, schema: Schema, actions: Arrays, present: Mapping[str, np.ndarray]
) -> None:
    """Raise a `DataError` unless these are actions that the objects of some worlds can take.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x, push = Real(), Real(action=True)
    >>> on = {"Ball": np.ones((1, 2), bool)}
    >>> check_actions("a policy's", Schema(Ball), {"Ball": {"push": np.full((1, 2), np.nan)}}, on)
    Traceback (most recent call last):
    ...
    oocdm.errors.DataError: a policy's actions for `Ball.push`: expected a finite number, got nan. \
The schema declares what the field allows.
    """
    for problem in action_problems(where, schema, actions, present):
        raise DataError(problem)
    for c in schema.classes:
        for f, field in schema.fields(c).items():
            if field.action:
                own = f"{where} actions for `{c}.{f}`"
                values = read_numbers(own, field, actions[c][f], DataError)
                check_allowed(own, field, values[present[c]], DataError)
