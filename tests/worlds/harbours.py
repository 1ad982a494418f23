"""A small world of other people: boats that come and go, and a tug, in both kinds of interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from oocdm.schema import Boolean, Categorical, ObjectClass, Real, Schema


class Boat(ObjectClass):
    place = Real(shape=(2,))
    empty = Boolean()
    kind = Categorical(["sail", "steam"], static=True)


class Tug(ObjectClass):
    speed = Real()
    pull = Real(-1.0, 1.0, action=True)


SCHEMA = Schema(Boat, Tug)


class Harbour(gymnasium.Env[Any, Any]):
    """Two boats; the first one leaves after two steps, and everything ends after four."""

    action_space = spaces.Box(-1.0, 1.0, (1,))
    observation_space = spaces.Box(-np.inf, np.inf, (1,))

    def __init__(self, is_cut: bool = False) -> None:
        self.is_cut = is_cut

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.time, self.speed = 0, float(self.np_random.normal())
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        self.speed += float(action[0])
        is_over = self.time == 4
        return self._observe(), 1.5, is_over and not self.is_cut, is_over and self.is_cut, {}

    def _observe(self) -> Any:
        return np.array([self.speed], np.float32)


class ParallelHarbour:
    """The same for agents: each adds to the speed, the second one leaves with the first boat."""

    possible_agents = ("north", "south")

    def __init__(self, is_cut: bool = False) -> None:
        self.harbour, self.agents = Harbour(is_cut), list(self.possible_agents)
        self.spaces = {agent: spaces.Box(-1.0, 1.0, (1,)) for agent in self.agents}

    def action_space(self, agent: str) -> Any:
        return self.spaces[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self.agents = list(self.possible_agents)
        self.harbour.reset(seed=seed)
        return self._for_all(0.0), self._for_all({})

    def step(self, actions: Any) -> tuple[Any, ...]:
        assert list(actions) == self.agents
        _, reward, terminated, truncated, _ = self.harbour.step(sum(actions.values()) / 2)
        found = [self._for_all(v) for v in (0.0, reward, terminated, truncated, {})]
        self.agents = [] if terminated or truncated else self.agents
        if self.harbour.time == 2:
            self.agents = ["north"]
        return tuple(found)

    def _for_all(self, value: Any) -> dict[str, Any]:
        return dict.fromkeys(self.agents, value)


def read_harbour(env: Any) -> dict[str, Any]:
    """What the objects are."""
    boats: dict[str, Any] = {}
    for name, kind, leaves in (("swan", "sail", 2), ("bull", "steam", 9)):
        if env.time <= leaves:
            boats[name] = {"place": [env.time, env.speed], "empty": env.time > 1, "kind": kind}
    return {"Boat": boats, "Tug": {7: {"speed": np.float32(env.speed)}}}


def read_pull(action: Any) -> dict[str, Any]:
    """What the tug does."""
    return {"Tug": {7: {"pull": action[0]}}}


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[Any], Any]:
    """`read_harbour` with what it returns changed in place, or for something else."""

    def read(env: Any) -> Any:
        found = read_harbour(env)
        other = change(found)
        return found if other is None else other

    return read
