"""What an agent earns: many episodes of a world, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError, short
from oocdm.planning.actions import Masks
from oocdm.planning.agent import Agent
from oocdm.reading import Count, Seed, checked
from oocdm.worlds.convert import to_arrays, to_snapshot
from oocdm.worlds.world import World, WorldState, world_of
from oocdm.worlds.world_checks import check_state, check_step

_LENGTH = "It says how much to run."


@dataclass(frozen=True)
class EpisodesProgress:
    """How far episodes are: steps done and the most there can be, and what came of them so far.

    >>> EpisodesProgress(done=30, total=120, mean_return=1.5, seconds_a_step=0.2).done
    30
    """

    done: int
    total: int
    mean_return: float
    seconds_a_step: float


@dataclass(frozen=True)
class Moment:
    """The first episode after so many steps: its world, and the rewards that it earned till then.

    >>> world = WorldState({"Ball": {"x": np.zeros((1, 3))}}, {"Ball": np.ones((1, 3), bool)})
    >>> Moment(step=2, state=world, earned=0.5).earned
    0.5
    """

    step: int
    state: WorldState
    earned: float


@dataclass(frozen=True)
class EpisodeResults:
    """Sum of rewards and number of steps of each episode, and the time that an action took.

    >>> results = EpisodeResults(np.array([1.0, 3.0]), np.array([10, 30]), 0.5)
    >>> results.mean_return, results.standard_error
    (2.0, 1.0)
    """

    returns: np.ndarray
    lengths: np.ndarray
    seconds_a_step: float

    @property
    def mean_return(self) -> float:
        """Mean over episodes."""
        return float(self.returns.mean())

    @property
    def standard_error(self) -> float:
        """Of the mean; NaN for a single episode."""
        num = len(self.returns)
        return float(self.returns.std(ddof=1) / np.sqrt(num)) if num > 1 else float("nan")

    @property
    def mean_length(self) -> float:
        """Mean number of steps."""
        return float(self.lengths.mean())

    def to_json(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return {
            "returns": self.returns.tolist(),
            "mean_return": self.mean_return,
            "standard_error": self.standard_error if len(self.returns) > 1 else None,
            "lengths": self.lengths.tolist(),
            "mean_length": self.mean_length,
            "ms_a_step": 1000 * self.seconds_a_step,
        }


@checked(PlanError)
def run_episodes(
    world: World,
    agent: Agent,
    episodes: Annotated[Count, _LENGTH],
    seed: Seed = 0,
    max_steps: Annotated[Count, _LENGTH] | None = None,
    progress: Callable[[EpisodesProgress], None] | None = None,
    can_act: Callable[[Snapshot], Masks] | None = None,
    watch: Callable[[Moment], None] | None = None,
) -> EpisodeResults:
    """Let an agent act in so many episodes at once, each until it ends or `max_steps`.

    `world` is that of one of oocdm's environments, or the environment itself. `seed` is that of the
    world: all agents start from equal states. Worlds that ended are left out, so that they cost
    nothing. `can_act` says which objects of a state can act, all that are present if it is None.
    `progress` is called after each step; `watch` at the start of the first episode and after each
    step of it. `seconds_a_step` is the agent's time for the action of one world.

    >>> import oocdm
    >>> from oocdm.planning import RandomAgent
    >>> env = oocdm.make("mouse")
    >>> run_episodes(env, RandomAgent(env), episodes=3, max_steps=5).lengths
    array([5, 5, 5])
    """
    world = world_of("run_episodes", world, PlanError)
    limit = world.max_episode_steps if max_steps is None else max_steps
    rng = np.random.default_rng(seed)
    state, name = world.reset(episodes, rng), type(world).__name__
    check_state(f"run_episodes: {name}.reset", world.schema, state, episodes, PlanError)
    if not (hasattr(agent, "reset") and hasattr(agent, "act")):
        raise PlanError(
            f"run_episodes: `agent`: expected one with `reset` and `act`, such as oocdm.MPC, got "
            f"{short(agent)}."
        )
    agent.reset(episodes)
    returns, lengths = np.zeros(episodes), np.zeros(episodes, dtype=np.int64)
    running, seconds = np.arange(episodes), 0.0
    if watch is not None:
        watch(Moment(0, state.select(running[:1]), 0.0))
    for step in range(1, limit + 1):
        seen = to_snapshot(world.schema, world.observe(state, rng))
        masks = None if can_act is None else can_act(seen)
        started = time.perf_counter()
        actions = agent.act(seen, masks, torch.from_numpy(running))
        seconds += time.perf_counter() - started
        found = world.step(state, to_arrays(actions), rng)
        check_step(f"run_episodes: {name}.step", found, len(running), PlanError)
        state, reward, terminated = found
        check_state(f"run_episodes: {name}.step", world.schema, state, len(running), PlanError)
        returns[running] += reward
        lengths[running] = step
        if watch is not None and running[0] == 0:
            watch(Moment(step, state.select(running[:1]), float(returns[0])))
        state, running = state.select(~terminated), running[~terminated]
        if progress is not None:
            done = step * len(running) + limit * (episodes - len(running))
            a_step = seconds / int(lengths.sum())
            progress(EpisodesProgress(done, limit * episodes, float(returns.mean()), a_step))
        if len(running) == 0:
            break
    return EpisodeResults(returns, lengths, seconds / int(lengths.sum()))
