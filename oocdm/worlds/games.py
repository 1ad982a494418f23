"""Environments of Gymnasium and of PettingZoo, played alike."""

from __future__ import annotations

from typing import Any, Protocol

import gymnasium

from oocdm.errors import DataError

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
        return self.env.reset(seed=seed)[0]

    def random_action(self) -> Any:
        """An action drawn from the space of actions."""
        return self.env.action_space.sample()

    def step(self, action: Any) -> Outcome:
        """Take an action."""
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return observation, float(reward), bool(terminated), bool(truncated)


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
        return self.env.reset(seed=seed)[0]

    def random_action(self) -> Any:
        """An action of each agent that is left, drawn from its space."""
        return {agent: self.env.action_space(agent).sample() for agent in self.env.agents}

    def step(self, action: Any) -> Outcome:
        """Take an action."""
        observation, rewards, _, truncations, _ = self.env.step(action)
        is_over = not self.env.agents
        is_cut = is_over and any(truncations.values())
        return observation, float(sum(rewards.values())), is_over and not is_cut, is_cut


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
