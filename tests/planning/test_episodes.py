"""Agents in episodes: what they earn, and what it costs."""

from __future__ import annotations

import re
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from torch import Tensor

import oocdm
from oocdm.data.snapshot import PerField, Snapshot
from oocdm.envs.mouse import MouseWorld
from oocdm.errors import PlanError
from oocdm.planning import (
    CEM,
    MPC,
    EpisodeResults,
    EpisodesProgress,
    Moment,
    RandomAgent,
    TrueSimulator,
    run_episodes,
)
from oocdm.planning.actions import Masks
from tests.planning.toys import Walk

PLANNER = CEM(horizon=5, iterations=3, samples=100, elites=20, smoothing=0.1)


class Scripted:
    """World i goes left i times, then right."""

    def reset(self, num_worlds: int) -> None:
        self.asked: list[list[int]] = []
        self.masks: list[Masks | None] = []

    def act(
        self, state: Snapshot, can_act: Masks | None = None, worlds: Tensor | None = None
    ) -> PerField:
        assert worlds is not None and len(worlds) == state.batch_size
        self.asked.append(worlds.tolist())
        self.masks.append(can_act)
        left = worlds >= len(self.asked)
        return {"Walker": {"stride": torch.where(left, -1, 1).unsqueeze(-1)}}


def test_returns_and_lengths() -> None:
    agent, world = Scripted(), Walk()
    results = run_episodes(world, agent, episodes=4, max_steps=4)
    # Worlds 2 and 3 are at -2 after two steps, which ends them.
    assert results.lengths.tolist() == [4, 4, 2, 2]
    assert results.returns.tolist() == [-(2 + 1 + 0 + 1), -(4 + 3 + 2 + 1), -(4 + 5), -(4 + 5)]
    assert agent.asked == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1], [0, 1]]
    assert world.worlds_stepped == [4, 4, 2, 2]
    assert results.seconds_a_step > 0


def test_it_stops_when_all_have_ended() -> None:
    class Left(Scripted):
        def act(self, *args: Any) -> PerField:
            return {"Walker": {"stride": -torch.ones_like(super().act(*args)["Walker"]["stride"])}}

    world = Walk()
    results = run_episodes(world, Left(), episodes=3)
    assert results.lengths.tolist() == [2, 2, 2] and len(world.worlds_stepped) == 2


def test_progress_tells_what_came_of_it_so_far() -> None:
    told: list[EpisodesProgress] = []
    results = run_episodes(Walk(), Scripted(), episodes=4, max_steps=4, progress=told.append)
    # An episode that ended counts as if it had taken all steps.
    assert [(p.done, p.total) for p in told] == [(4, 16), (12, 16), (14, 16), (16, 16)]
    assert [p.mean_return for p in told] == [-14 / 4, -(3 + 7 + 9 + 9) / 4, -30 / 4, -32 / 4]
    assert told[-1].seconds_a_step == results.seconds_a_step


@pytest.mark.parametrize("in_place", [False, True])
def test_the_first_episode_can_be_watched(in_place: bool) -> None:
    seen: list[Moment] = []
    run_episodes(Walk(in_place), Scripted(), episodes=4, max_steps=4, watch=seen.append)
    assert [moment.step for moment in seen] == [0, 1, 2, 3, 4]
    assert [moment.earned for moment in seen] == [0, -2, -3, -3, -4]
    assert [moment.state.values["Walker"]["x"].tolist() for moment in seen] == [
        [[x]] for x in range(5)
    ]


def test_watching_ends_with_the_first_episode_and_shows_its_end() -> None:
    class FirstLeft(Scripted):
        def act(self, *args: Any) -> PerField:
            return {"Walker": {"stride": -super().act(*args)["Walker"]["stride"]}}

    seen: list[Moment] = []
    results = run_episodes(Walk(), FirstLeft(), episodes=2, max_steps=4, watch=seen.append)
    assert results.lengths.tolist() == [2, 4]
    assert [float(moment.state.values["Walker"]["x"][0, 0]) for moment in seen] == [0, -1, -2]


def test_an_episode_is_as_long_as_the_world_says() -> None:
    agent = Scripted()
    assert run_episodes(Walk(), agent, episodes=1).lengths.tolist() == [8]


def test_who_can_act_is_asked_of_every_state() -> None:
    agent = Scripted()
    run_episodes(
        Walk(),
        agent,
        episodes=2,
        max_steps=3,
        can_act=lambda state: {"Walker": state["Walker", "x"] < 2},
    )
    assert [mask["Walker"].tolist() for mask in agent.masks if mask] == [
        [[True], [True]],
        [[True], [True]],
        [[False], [True]],
    ]


def test_mpc_with_the_true_dynamics_beats_random() -> None:
    world = Walk()
    random = run_episodes(world, RandomAgent(world), episodes=30)
    agent = MPC.within(TrueSimulator(world), PLANNER)
    planned = run_episodes(world, agent, episodes=5)
    # To 3 as fast as possible, then stay: 2 + 1.
    assert planned.returns.tolist() == [-3.0] * 5
    assert random.mean_return < -10


def test_equal_seeds_give_equal_episodes() -> None:
    def returns(seed: int, agent_seed: int) -> np.ndarray:
        world = MouseWorld(max_episode_steps=4)
        planner = CEM(horizon=2, iterations=1, samples=5, elites=2)
        agent = MPC.within(TrueSimulator(world), planner, seed=agent_seed)
        return run_episodes(world, agent, episodes=3, seed=seed).returns

    assert np.array_equal(returns(0, 0), returns(0, 0))
    assert not np.array_equal(returns(0, 0), returns(1, 0))


def test_summary() -> None:
    results = EpisodeResults(np.array([1.0, 2.0, 6.0]), np.array([1, 2, 3]), 0.1)
    assert results.mean_return == 3
    assert results.standard_error == pytest.approx(np.std([1, 2, 6], ddof=1) / np.sqrt(3))
    assert results.to_json() == {
        "returns": [1.0, 2.0, 6.0],
        "mean_return": 3.0,
        "standard_error": results.standard_error,
        "lengths": [1, 2, 3],
        "mean_length": 2.0,
        "ms_a_step": 100.0,
    }
    assert np.isnan(EpisodeResults(np.ones(1), np.ones(1), 0.1).standard_error)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"episodes": 0},
            "run_episodes: `episodes`: expected a whole number of at least 1, got 0. It says how "
            "much to run.",
        ),
        (
            {"episodes": 1, "max_steps": 1.5},
            "run_episodes: `max_steps`: expected a whole number of at least 1 or None, got 1.5. It "
            "says how much to run.",
        ),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        run_episodes(Walk(), Scripted(), **options)


def test_an_environment_stands_for_its_world() -> None:
    env = oocdm.make("mouse")
    found, expected = (
        run_episodes(each, RandomAgent(each), episodes=2, max_steps=3) for each in (env, env.world)
    )
    assert found.returns.tolist() == expected.returns.tolist()


@pytest.mark.parametrize("world", [None, 3, gymnasium.make("CartPole-v1")])
def test_what_is_no_world(world: Any) -> None:
    message = (
        "run_episodes: expected an environment from oocdm.make or an oocdm.AbstractWorld, got "
        f"{type(world).__name__}."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        run_episodes(world, RandomAgent(MouseWorld()), episodes=2)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (
            lambda n: (np.zeros(n), np.zeros(n, int)),
            "terminated: expected an array of shape (3,) and dtype bool, one a world, got shape "
            "(3,) and dtype int64. If episodes never end, return np.zeros(3, bool).",
        ),
        (
            lambda n: (np.full(n, np.nan), np.zeros(n, bool)),
            "reward: expected finite numbers, got nan in 3 of 3 worlds. Look for divisions by 0, "
            "logarithms and roots.",
        ),
        (
            lambda n: (np.zeros((n, 1)), np.zeros(n, bool)),
            "reward: expected an array of shape (3,), a number a world, got shape (3, 1). Sum over "
            "objects, as x.sum(axis=1), not over worlds.",
        ),
    ],
)
def test_what_a_world_returns_is_checked(outcome: Any, message: str) -> None:
    class Wrong(Walk):
        def step(self, state: Any, actions: Any, rng: np.random.Generator) -> Any:
            return state, *outcome(len(state.present["Walker"]))

    message = f"run_episodes: Wrong.step: {message}"
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        run_episodes(Wrong(), RandomAgent(Walk()), episodes=3)
