"""Environments of Gymnasium and PettingZoo, played alike."""

from __future__ import annotations

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
