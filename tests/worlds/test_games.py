"""Environments of Gymnasium and PettingZoo, played alike."""

from __future__ import annotations

import re

import gymnasium
import numpy as np
import pytest

from oocdm.errors import DataError
from oocdm.worlds.games import GymGame, ParallelGame, game_of
from tests.worlds.harbours import Harbour, ParallelHarbour


def test_random_actions_follow_the_seed() -> None:
    for make in (lambda: GymGame(Harbour()), lambda: ParallelGame(ParallelHarbour())):
        drawn = []
        for seed in (3, 3, 4):
            game = make()
            game.reset(seed)
            action = game.random_action()
            drawn.append(np.array(list(action.values()) if isinstance(action, dict) else action))
        assert np.array_equal(drawn[0], drawn[1]) and not np.array_equal(drawn[0], drawn[2])
    assert drawn[0][0] != drawn[0][1]  # agents do not act alike


def test_rewards_add_up_and_the_last_agent_ends_it() -> None:
    for is_cut in (False, True):
        game = ParallelGame(ParallelHarbour(is_cut))
        game.reset(0)
        outcomes = [game.step(game.random_action())[1:] for _ in range(4)]
        assert outcomes == [(3.0, False, False)] * 2 + [
            (1.5, False, False),
            (1.5, not is_cut, is_cut),
        ]


def test_other_things_are_no_games() -> None:
    assert isinstance(game_of("record", Harbour()), GymGame)
    assert isinstance(game_of("record", ParallelHarbour()), ParallelGame)
    with pytest.raises(DataError) as error:
        game_of("record", 3)
    assert str(error.value) == (
        "record: `env`: expected a gymnasium.Env or a parallel environment of PettingZoo, got int. "
        "Many environments at once are not logged: record each."
    )


class Broken(gymnasium.Env):
    """Returns what it is told to."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, reset, step) -> None:
        self.found = reset, step

    def reset(self, seed=None, options=None):
        return self.found[0]

    def step(self, action):
        return self.found[1]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ((0, "much", False, False, {}), "expected a number as reward, got 'much'. Mend"),
        ((0, None, False, False, {}), "expected a number as reward, got None. Mend"),
        ((0, [1.0, 2.0], False, False, {}), "expected a number as reward, got [1.0, 2.0]. Mend"),
        ((0, 1.0, False, {}), "terminated, truncated, info), got 4 values. Mend"),
        (7, "expected a tuple (observation, reward, terminated, truncated, info), got 7. Mend"),
    ],
)
def test_what_an_environment_must_not_return(step, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as error:
        GymGame(Broken((0, {}), step)).step(0)
    assert str(error.value).startswith("record: `env.step`: expected ")
    with pytest.raises(
        DataError, match=r"`env.reset`: expected a tuple \(observation, info\), got 7"
    ):
        GymGame(Broken(7, step)).reset(None)


def test_agents_return_mappings() -> None:
    game = ParallelGame(ParallelHarbour())
    game.reset(0)
    found = list(game.env.step(game.random_action()))
    for place, name in ((1, "rewards"), (3, "truncations")):
        game.env.step = lambda action, place=place: tuple(
            7 if i == place else each for i, each in enumerate(found)
        )
        with pytest.raises(DataError, match=f"expected {name} by agent, got 7"):
            game.step({})
