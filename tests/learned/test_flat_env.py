"""Flat views of true and learned environments."""

from __future__ import annotations

import re
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import oocdm
from oocdm import LearnedEnv, PlanError
from oocdm.learned import FlatEnv
from tests.learned.toys import mouse


def test_true_and_learned_worlds_look_alike() -> None:
    env, data, result = mouse(num_food=(1, 6))
    counts = {**env.max_objects, "Food": (1, 6)}
    learned = FlatEnv(LearnedEnv(result, env.task, counts, start=data))
    true = FlatEnv(env)
    assert learned.observation_space == true.observation_space
    assert learned.action_space == true.action_space == gymnasium.spaces.Discrete(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*is different from the unwrapped version")
        check_env(learned, skip_render_check=True)
        check_env(true, skip_render_check=True)


def test_equal_states_give_equal_vectors() -> None:
    """A learned world that starts in the true world's state is seen as the true one is."""
    env, data, result = mouse()
    first = data.transitions(slice(0, 1)).before
    learned = FlatEnv(LearnedEnv(result, env.task, env.max_objects, start=first))
    env.reset(seed=0)
    nested = LearnedEnv(result, env.task, env.max_objects, start=first).reset(seed=0)[0]
    # True worlds name fields in an order of their own.
    shuffled = {c: dict(reversed(fields.items())) for c, fields in reversed(nested.items())}
    batch = {c: {f: v[None] for f, v in fields.items()} for c, fields in shuffled.items()}
    np.testing.assert_array_equal(learned.reset(seed=0)[0], FlatEnv(env).flat.observe(batch)[0])


def test_steps_are_those_of_the_environment() -> None:
    flat, nested = FlatEnv(oocdm.make("mouse", seed=0)), oocdm.make("mouse", seed=0)
    flat.reset()
    nested.reset()
    for move in (0, 1, 2, 3, 4):
        seen, reward, terminated, truncated, info = flat.step(np.int64(move))
        outcome = nested.step({"Mouse": {"move": [move]}})
        assert (reward, terminated, truncated, info) == outcome[1:]
        assert seen in flat.observation_space


def test_registered_environments_too() -> None:
    flat = FlatEnv(gymnasium.make("oocdm/Mouse-v0", num_food=6))
    assert flat.reset(seed=0)[0].shape == flat.observation_space.shape


def test_other_people_s_environments_are_refused() -> None:
    message = (
        "FlatEnv: expected an environment from oocdm.make or an oocdm.LearnedEnv, got CartPoleEnv."
        " Gymnasium's FlattenObservation serves others."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        FlatEnv(gymnasium.make("CartPole-v1"))
