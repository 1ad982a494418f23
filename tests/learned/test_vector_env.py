"""Many learned worlds as one vector environment."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from oocdm import Dynamics, LearnedEnv, LearnedVectorEnv, PlanError, Task
from tests.learned.toys import COUNTS, DATA, RESULT, TASK, pushes

NUM = 4


def ants(num_envs: int = NUM, **options: Any) -> LearnedVectorEnv:
    return LearnedVectorEnv(RESULT, TASK, COUNTS, num_envs, **{"start": DATA, "seed": 0, **options})


def close(first: Any, second: Any) -> None:
    """Equal up to the rounding of sums that a model forms in another order."""
    assert type(first) is type(second) and len(first) == len(second)
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for name, value in first.items():
            close(value, second[name])
    elif first.dtype == object:
        for one, other in zip(first, second, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                close(one, other)
    else:
        np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_worlds_are_those_of_single_environments(mode: AutoresetMode) -> None:
    """Gymnasium's own vector of single worlds says the same in every mode, step by step."""
    options: dict[str, Any] = {"start": DATA, "max_episode_steps": 4, "sample": False}
    # One step of three ends where ants are farthest: so worlds end in both ways.
    far = Dynamics(RESULT).step(DATA.transitions().before)["Ant", "x"].mean(1).quantile(0.67)
    task = Task(TASK.reward, lambda after: after["Ant", "x"].mean(1) > far, TASK.reads)
    vector = LearnedVectorEnv(RESULT, task, COUNTS, NUM, autoreset_mode=mode, **options)
    singles = SyncVectorEnv(
        [lambda: LearnedEnv(RESULT, task, COUNTS, **options)] * NUM, autoreset_mode=mode
    )
    assert vector.observation_space == singles.observation_space
    assert vector.action_space == singles.action_space
    assert vector.single_observation_space == singles.single_observation_space
    assert vector.single_action_space == singles.single_action_space
    assert vector.metadata["autoreset_mode"] is singles.metadata["autoreset_mode"] is mode
    rng = np.random.default_rng(1)
    for one, other in zip(vector.reset(seed=7), singles.reset(seed=7), strict=True):
        close(one, other)
    ends = np.zeros(2, int)
    for step in range(14):
        actions = pushes(rng, NUM, 3)
        steps = vector.step(actions), singles.step(actions)
        for one, other in zip(*steps, strict=True):
            close(one, other)
        assert steps[0][0] in vector.observation_space
        _, _, terminated, truncated, _ = steps[0]
        ends += terminated.sum(), truncated.sum()
        ended = terminated | truncated
        if mode is AutoresetMode.DISABLED and ended.any():
            seed = None if step % 2 else 20 + step
            for one, other in zip(
                vector.reset(seed=seed, options={"reset_mask": ended}),
                singles.reset(seed=seed, options={"reset_mask": ended}),
                strict=True,
            ):
                close(one, other)
    assert (ends > 1).all()  # both ways to end occurred


def test_a_vector_of_one_world_is_that_world_also_by_chance() -> None:
    vector = ants(1, max_episode_steps=4)
    single = LearnedEnv(RESULT, TASK, COUNTS, start=DATA, max_episode_steps=4)
    singles = SyncVectorEnv([lambda: single])
    rng = np.random.default_rng(0)
    close(vector.reset(seed=3)[0], singles.reset(seed=3)[0])
    for _ in range(12):
        actions = pushes(rng, 1, 3)
        for one, other in zip(vector.step(actions), singles.step(actions), strict=True):
            close(one, other)


def test_a_step_is_one_call_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []
    step = Dynamics.step

    def counted(self: Dynamics, before: Any, seed: int | None) -> Any:
        rows.append(before.batch_size)
        return step(self, before, seed)

    monkeypatch.setattr(Dynamics, "step", counted)
    env = ants(32)
    env.reset()
    env.step(pushes(np.random.default_rng(0), 32, 3))
    assert rows == [32]


def test_next_step_autoreset_waits_one_step() -> None:
    env = ants(2, max_episode_steps=3, sample=False)
    rng = np.random.default_rng(0)
    env.reset()
    env.do("Nest[*].food", 1.0)  # nobody ends before the cut
    cuts = []
    for _ in range(8):
        _, reward, terminated, truncated, infos = env.step(pushes(rng, 2, 3))
        cuts.append(bool(truncated[0]))
        if len(cuts) > 1 and cuts[-2]:  # a new episode: its action was not taken
            assert not reward.any() and not truncated.any() and infos == {}
            env.do("Nest[*].food", 1.0)
        assert not terminated.any()
    assert cuts == [False, False, True, False, False, False, True, False]


def test_same_step_autoreset_shows_the_last_observation() -> None:
    env = ants(3, max_episode_steps=2, autoreset_mode="SameStep")
    rng = np.random.default_rng(0)
    env.reset()
    env.do("Nest[*].food", 1.0)
    env.do("Nest[0].food", 30.0, worlds=[1])  # world 1 ends at once
    seen, _, terminated, truncated, infos = env.step(pushes(rng, 3, 3))
    assert terminated.tolist() == [False, True, False] and not truncated.any()
    assert infos["_final_obs"].tolist() == [False, True, False]
    assert infos["final_obs"][1]["Nest"]["food"].tolist() == [30.0]
    assert seen["Nest"]["food"][:, 0].tolist()[::2] == [1.0, 1.0]
    assert seen["Nest"]["food"][1, 0] < 30
    _, _, _, truncated, infos = env.step(pushes(rng, 3, 3))
    assert truncated.tolist() == [True, False, True]


def test_seeds() -> None:
    def run(env: LearnedVectorEnv, seed: Any) -> Any:
        rng = np.random.default_rng(0)
        env.reset(seed=seed)
        return [env.step(pushes(rng, NUM, 3))[0]["Ant"]["x"] for _ in range(3)]

    np.testing.assert_equal(run(ants(), 3), run(ants(), 3))
    np.testing.assert_equal(run(ants(), 3), run(ants(), [3, 4, 5, 6]))
    np.testing.assert_equal(run(ants(seed=3), None), run(ants(), 3))
    assert not np.array_equal(run(ants(), 3), run(ants(), 4))
    env = ants(seed=3)
    first = run(env, None)
    assert not np.array_equal(first, run(env, None))  # the seed is that of the first reset only
    starts = ants(seed=None)
    kept = [starts.reset(seed=[5, None, None, None])[0]["Ant"]["x"] for _ in range(2)]
    assert np.array_equal(kept[0][0], kept[1][0])
    assert not np.array_equal(kept[0][1:], kept[1][1:])


def test_interventions_in_all_worlds_or_in_some() -> None:
    env, rng = ants(), np.random.default_rng(0)
    env.reset()
    assert env.do("Nest[0].food", 3.0)["Nest"]["food"].ravel().tolist() == [3.0] * NUM
    env.do("Nest[0].food", 5.0, worlds=[1, 3])
    for _ in range(3):
        food = env.step(pushes(rng, NUM, 3))[0]["Nest"]["food"].ravel()
        assert food.tolist() == [3.0, 5.0, 3.0, 5.0]
    env.undo("Nest[0].food", worlds=[0, 1])
    food = env.step(pushes(rng, NUM, 3))[0]["Nest"]["food"].ravel()
    assert food.tolist()[2:] == [3.0, 5.0] and food[0] != 3.0 and food[1] != 5.0


def test_a_world_that_starts_anew_forgets_what_was_held() -> None:
    env, rng = ants(2, autoreset_mode="SameStep", sample=False), np.random.default_rng(0)
    env.reset()
    env.do("Ant[0].x", 9.0)
    env.do("Nest[0].food", 1.0, worlds=[1])
    env.do("Nest[0].food", 30.0, worlds=[0])
    assert env.step(pushes(rng, 2, 3))[2].tolist() == [True, False]
    x = env.step(pushes(rng, 2, 3))[0]["Ant"]["x"][:, 0]
    assert x[0] != 9.0 and x[1] == 9.0


def test_some_worlds_have_fewer_objects() -> None:
    env = LearnedVectorEnv(RESULT, TASK, {**COUNTS, "Ant": (0, 3)}, 20, start=DATA, seed=0)
    seen, _ = env.reset()
    count = seen["Ant"]["present"].sum(1)
    assert set(count.tolist()) == {0, 1, 2, 3}
    env.do("Ant[*].x", 1.0)
    np.testing.assert_array_equal(env.state["Ant", "x"].numpy(), seen["Ant"]["present"])
    world = int(np.flatnonzero(count == 1)[0])
    message = (
        f"do `Ant[1].x`: expected one of the 1 objects of world {world} (Ant[0] to [0]), got "
        "number 1. Objects are counted from 0."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        env.do("Ant[1].x", 1.0, worlds=[world])
    after = env.step(pushes(np.random.default_rng(0), 20, 3))[0]
    assert not after["Ant"]["x"][seen["Ant"]["present"] == 0].any()


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize("worlds", [[4], [-1], [], [0.5], 2])
def test_worlds_must_exist(worlds: Any) -> None:
    env = ants()
    env.reset()
    message = f"do `Ant[0].x`: `worlds`: expected numbers of worlds from 0 to 3, got {worlds!r}."
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        env.do("Ant[0].x", 1.0, worlds=worlds)


def test_how_many_worlds() -> None:
    message = (
        "LearnedVectorEnv: `num_envs`: expected a whole number of at least 1, got 0. It says how "
        "many worlds run side by side."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        ants(0)


def test_a_reset_takes_a_seed_a_world() -> None:
    message = "reset: seed: expected one number, or 4 of them, one a world, got 2."
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        ants().reset(seed=[1, 2])


@pytest.mark.parametrize("mask", [[True] * 4, np.ones(4), np.ones(3, bool)])
def test_a_reset_takes_a_mask_of_booleans(mask: Any) -> None:
    env = ants()
    env.reset()
    message = (
        f"reset: options['reset_mask']: expected an array of 4 booleans, one a world, got {mask!r}."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        env.reset(options={"reset_mask": mask})


def test_without_autoreset_ended_worlds_must_be_started_anew() -> None:
    env = ants(3, autoreset_mode="Disabled", max_episode_steps=1)
    env.reset()
    actions = pushes(np.random.default_rng(0), 3, 3)
    env.step(actions)
    message = (
        "step: expected worlds whose episodes go on, got ended ones: [0, 1, 2]. Start them anew "
        'with reset(options={"reset_mask": terminated | truncated}).'
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        env.step(actions)
    env.reset()
    env.step(actions)
