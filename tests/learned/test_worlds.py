"""Learned worlds side by side."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from oocdm.errors import PlanError
from oocdm.inference import Dynamics, with_actions
from oocdm.learned.worlds import LearnedWorlds, Outcomes
from tests.learned.toys import COUNTS, DATA, RESULT, TASK, pushes


def begun(*seeds: int, limit: int = 3, sample: bool = True) -> LearnedWorlds:
    worlds = LearnedWorlds(RESULT, TASK, COUNTS, DATA, limit, sample)
    worlds.begin([np.random.default_rng(seed) for seed in seeds])
    return worlds


def test_episodes_are_over_for_either_reason() -> None:
    no, yes = np.array([False]), np.array([True])
    assert Outcomes(no, yes, no).ended and Outcomes(no, no, yes).ended
    assert not Outcomes(yes, no, no).ended


def test_a_step_is_that_of_the_model() -> None:
    worlds = begun(0, 1, sample=False)
    actions = pushes(np.random.default_rng(0), 2, 3)
    chosen = {"Ant": {"push": torch.from_numpy(actions["Ant"]["push"])}}
    before = with_actions(worlds.state, chosen)
    after = Dynamics(RESULT).step(before, None)
    found = worlds.step(actions)
    assert torch.equal(worlds.state["Ant.x"], after["Ant.x"])
    np.testing.assert_allclose(found.reward, TASK.reward(before, after).numpy(), rtol=1e-6)
    assert found.terminated.tolist() == TASK.terminated(after).tolist()


def test_episodes_are_cut_each_after_its_own_steps() -> None:
    worlds = begun(0, 1, limit=2)
    actions = pushes(np.random.default_rng(0), 2, 3)
    assert worlds.step(actions).truncated.tolist() == [False, False]
    worlds.restart(np.array([False, True]))
    assert worlds.step(actions).truncated.tolist() == [True, False]


def test_a_restart_spares_the_other_worlds() -> None:
    worlds = begun(0, 1)
    worlds.step(pushes(np.random.default_rng(0), 2, 3))
    worlds.do("Nest[*].food", 2.0, True, None)
    before = worlds.state
    worlds.restart(np.array([True, False]))
    assert torch.equal(worlds.state["Ant.x"][1], before["Ant.x"][1])
    assert not torch.equal(worlds.state["Ant.x"][0], before["Ant.x"][0])
    worlds.step(pushes(np.random.default_rng(0), 2, 3))
    food = worlds.state["Nest.food"][:, 0].tolist()
    assert food[1] == 2.0 and food[0] != 2.0  # what was held ended with its episode


def test_setting_anew_without_holding_lets_go() -> None:
    worlds = begun(0)
    worlds.do("Ant[1].x", 5.0, True, None)
    worlds.do("Ant[1].x", 6.0, False, None)
    assert worlds.state["Ant.x"][0, 1] == 6.0
    with pytest.raises(PlanError, match=r"^undo `Ant\[1\]\.x`: .* Held: nothing\.$"):
        worlds.undo("Ant[1].x", None)


def test_one_world_is_seen_as_in_all() -> None:
    worlds = begun(0, 1)
    seen, one = worlds.observe(), worlds.observe_one(1)
    np.testing.assert_array_equal(seen["Ant"]["x"][1], one["Ant"]["x"])
    assert worlds.present["Ant"].shape == (2, 3) and worlds.max_objects == COUNTS


def test_chance_comes_from_the_worlds_that_run() -> None:
    actions = pushes(np.random.default_rng(0), 2, 3)
    first, second = begun(0, 1), begun(0, 1)
    first.step(actions, np.array([True, False]))
    second.step(actions)
    assert not torch.equal(first.state["Ant.x"], second.state["Ant.x"])
    again = begun(0, 1)
    again.step(actions, np.array([True, False]))
    assert torch.equal(first.state["Ant.x"], again.state["Ant.x"])
