"""Learned worlds for Stable-Baselines3."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from oocdm import LearnedEnv, LearnedVectorEnv, OocdmError, PlanError, Task
from oocdm.data.snapshot import Snapshot
from oocdm.learned import FlatEnv
from oocdm.learned.stable_baselines import StableBaselinesEnv
from tests.learned.toys import mouse

ENV, DATA, RESULT = mouse(seed=6)  # whose weights let hunger neither always rise nor always fall
COUNTS = ENV.max_objects
# Some episodes of an untrained mouse end at once, others last.
TASK = Task(
    reward=lambda before, after: after["Mouse", "hunger"][:, 0] - before["Mouse", "hunger"][:, 0],
    terminated=lambda after: after["Mouse", "hunger"][:, 0] > 50,
    reads=["Mouse.hunger"],
)


def worlds(num_envs: int, **options: Any) -> LearnedVectorEnv:
    chosen: dict[str, Any] = {"start": DATA, "max_episode_steps": 4, "seed": 0, **options}
    return LearnedVectorEnv(RESULT, TASK, COUNTS, num_envs, **chosen)


def test_it_does_what_stable_baselines_does_with_single_worlds() -> None:
    ours = StableBaselinesEnv(worlds(3, sample=False))
    options: dict[str, Any] = {"start": DATA, "max_episode_steps": 4, "sample": False}
    theirs = DummyVecEnv([lambda: FlatEnv(LearnedEnv(RESULT, TASK, COUNTS, **options))] * 3)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    rng, ends = np.random.default_rng(0), np.zeros(2, int)
    for env in (ours, theirs):
        env.seed(5)
    np.testing.assert_allclose(ours.reset(), theirs.reset(), rtol=1e-4, atol=1e-4)  # type: ignore[arg-type]
    for _ in range(12):
        actions = rng.integers(5, size=3)
        steps = [env.step(actions) for env in (ours, theirs)]
        for i in range(3):
            np.testing.assert_allclose(steps[0][i], steps[1][i], rtol=1e-3, atol=1e-3)  # type: ignore[arg-type]
        for one, other in zip(steps[0][3], steps[1][3], strict=True):
            assert one.keys() == other.keys()
            assert one["TimeLimit.truncated"] == other["TimeLimit.truncated"]
            if "terminal_observation" in one:
                ends += one["TimeLimit.truncated"], not one["TimeLimit.truncated"]
                np.testing.assert_allclose(
                    one["terminal_observation"], other["terminal_observation"], rtol=1e-3, atol=1e-3
                )
    assert (ends > 0).all()


@pytest.mark.parametrize("algorithm", [PPO, A2C])
def test_policies_are_trained_and_act_in_the_true_world(algorithm: Any) -> None:
    env = VecMonitor(StableBaselinesEnv(worlds(4)))
    options = {"batch_size": 16} if algorithm is PPO else {}
    policy = algorithm("MlpPolicy", env, n_steps=4, seed=0, device="cpu", **options)
    policy.learn(32)
    assert len(policy.ep_info_buffer) > 0
    true = FlatEnv(ENV)
    action, _ = policy.predict(true.reset(seed=0)[0])
    assert action in true.action_space
    true.step(action)


def test_training_with_a_seed_is_repeatable() -> None:
    def weights() -> np.ndarray:
        policy = PPO("MlpPolicy", StableBaselinesEnv(worlds(4)), n_steps=8, batch_size=16, seed=1)
        policy.learn(64)
        return np.concatenate([p.detach().numpy().ravel() for p in policy.policy.parameters()])

    np.testing.assert_array_equal(weights(), weights())


def test_interventions_reach_the_worlds() -> None:
    env = StableBaselinesEnv(worlds(3))
    env.reset()
    env.env_method("do", "Mouse[0].hunger", 50.0)
    (state,) = env.get_attr("state", indices=0)
    assert isinstance(state, Snapshot) and state["Mouse", "hunger"].tolist() == [[50.0]] * 3
    assert env.env_is_wrapped(FlatEnv) == [False] * 3
    env.close()


def test_interventions_reach_some_of_the_worlds() -> None:
    env = StableBaselinesEnv(worlds(3))
    env.reset()
    env.env_method("do", "Mouse[0].hunger", 50.0)
    assert len(env.env_method("do", "Mouse[0].hunger", 70.0, indices=[0, 2])) == 2
    env.env_method("do", "Mouse[0].hunger", 30.0, indices=1)
    (state,) = env.get_attr("state", indices=0)
    assert state["Mouse", "hunger"].tolist() == [[70.0], [30.0], [70.0]]
    env.env_method("undo", "Mouse[0].hunger", indices=[1])
    with pytest.raises(PlanError, match="expected an attribute that is held"):
        env.env_method("undo", "Mouse[0].hunger", indices=[1])


def test_what_worlds_share_cannot_be_changed_in_some() -> None:
    env = StableBaselinesEnv(worlds(3))
    env.env_method("reset", indices=[2, 0, 1])
    env.set_attr("spec", None, indices=range(3))
    message = (
        "{}: expected `indices` of all 3 worlds, since they share one environment, got [0]. Leave "
        "`indices` out; `do` and `undo` take some."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message.format('env_method `reset`'))}$"):
        env.env_method("reset", indices=[0])
    with pytest.raises(PlanError, match=f"^{re.escape(message.format('set_attr `spec`'))}$"):
        env.set_attr("spec", None, indices=[0])


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "oocdm.learned.stable_baselines")
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", None)
    with pytest.raises(OocdmError, match=r"^Stable-Baselines3 is needed here .* 'oocdm\[rl\]'$"):
        import_module("oocdm.learned.stable_baselines")
