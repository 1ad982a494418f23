"""Environments of Gymnasium and of PettingZoo, played alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import gymnasium
import numpy as np

from oocdm.errors import DataError, short

_OF_RESET = "observation", "info"
_OF_STEP = "observation", "reward", "terminated", "truncated", "info"

Outcome = tuple[Any, float, bool, bool]  # observation, reward, terminated, truncated


class Game(Protocol):
    """What is played: one episode after the other, one action a step."""

    def reset(self, seed: int | None) -> Any:
        """Begin an episode, the first one with a seed: what is observed."""
        ...

    def random_action(self) -> Any:
        """An action drawn from the space of actions."""
        ...

    def step(self, action: Any) -> Outcome:
        """Take an action."""
        ...


class GymGame:
    """An environment of Gymnasium.

    >>> game = GymGame(gymnasium.make("CartPole-v1"))
    >>> game.reset(seed=0).shape
    (4,)
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        self.env = env

    def reset(self, seed: int | None) -> Any:
        """Begin an episode."""
        if seed is not None:
            self.env.action_space.seed(seed)
        return _parts("reset", self.env.reset(seed=seed), _OF_RESET)[0]

    def random_action(self) -> Any:
        """An action drawn from the space of actions."""
        return self.env.action_space.sample()

    def step(self, action: Any) -> Outcome:
        """Take an action."""
        observation, reward, terminated, truncated, _ = _parts(
            "step", self.env.step(action), _OF_STEP
        )
        return observation, _reward(reward), bool(terminated), bool(truncated)


class ParallelGame:
    """An environment of PettingZoo in parallel: observations and actions are mappings by agent.

    Rewards of agents are added up. An episode is over when no agent is left.
    """

    def __init__(self, env: Any) -> None:
        self.env = env

    def reset(self, seed: int | None) -> Any:
        """Begin an episode."""
        if seed is not None:
            for number, agent in enumerate(self.env.possible_agents):
                self.env.action_space(agent).seed(seed + number)
        return _parts("reset", self.env.reset(seed=seed), _OF_RESET)[0]

    def random_action(self) -> Any:
        """An action of each agent that is left, drawn from its space."""
        return {agent: self.env.action_space(agent).sample() for agent in self.env.agents}

    def step(self, action: Any) -> Outcome:
        """Take an action."""
        observation, rewards, _, truncations, _ = _parts("step", self.env.step(action), _OF_STEP)
        for each, name in ((rewards, "rewards"), (truncations, "truncations")):
            if not isinstance(each, Mapping):
                raise DataError(
                    f"record: `env.step`: expected {name} by agent, got {short(each)}. Mend the "
                    "environment."
                )
        is_over = not self.env.agents
        is_cut = is_over and any(truncations.values())
        return observation, sum(map(_reward, rewards.values())), is_over and not is_cut, is_cut


def _parts(name: str, found: Any, parts: tuple[str, ...]) -> tuple[Any, ...]:
    """What an environment returned, if it has the parts that it must have."""
    if isinstance(found, tuple) and len(found) == len(parts):
        return found
    got = f"{len(found)} values" if isinstance(found, tuple) else short(found)
    raise DataError(
        f"record: `env.{name}`: expected a tuple ({', '.join(parts)}), got {got}. Mend the "
        "environment, or wrap it so that it returns them."
    )


def _reward(found: Any) -> float:
    try:
        if np.ndim(found) == 0:
            return float(found)
    except (TypeError, ValueError):
        pass
    raise DataError(
        f"record: `env.step`: expected a number as reward, got {short(found)}. Mend the "
        "environment, or wrap it so that it returns one."
    )


def game_of(where: str, env: Any) -> Game:
    """The environment as a game.

    >>> type(game_of("record", gymnasium.make("CartPole-v1"))).__name__
    'GymGame'
    """
    if isinstance(env, gymnasium.Env):
        return GymGame(env)
    # PettingZoo need not be installed.
    if hasattr(env, "possible_agents") and hasattr(env, "action_space") and hasattr(env, "step"):
        return ParallelGame(env)
    raise DataError(
        f"{where}: `env`: expected a gymnasium.Env or a parallel environment of PettingZoo, got "
        f"{type(env).__name__}. Many environments at once are not logged: record each."
    )
