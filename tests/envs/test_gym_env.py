from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from oocdm.envs.block import BlockWorld
from oocdm.envs.gym_env import WorldGym
from oocdm.envs.mouse import MouseWorld
from oocdm.envs.registry import make
from oocdm.errors import DataError, OocdmError, SchemaError
from oocdm.schema import Boolean, Integer, ObjectClass, Real, Schema
from oocdm.worlds.world import AbstractWorld, WorldState

# The checker's advice on Box actions. Block's pushes are open and N(0, 1) by definition, so
# its action space is; Gymnasium's own tests ignore the same advice.
ADVICE = (
    ".*A Box action space minimum value is -infinity",
    ".*A Box action space maximum value is infinity",
    ".*For Box action spaces, we recommend using a symmetric and normalized space",
)


@pytest.mark.parametrize("variant", ["paper", "released"])
@pytest.mark.parametrize("num_blocks", [5, None])
def test_block_passes_the_checker(num_blocks, variant):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for message in ADVICE:
            warnings.filterwarnings("ignore", message)
        check_env(make("block", num_blocks=num_blocks, variant=variant, noise=0.01))
        check_env(gymnasium.make("oocdm/Block-v0", num_blocks=num_blocks).unwrapped)


@pytest.mark.parametrize("options", [{}, {"num_food": (0, 6)}, {"variant": "released"}])
def test_mouse_passes_the_checker_without_any_warning(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make("mouse", render_mode="rgb_array", **options))


def _play(env: Any, steps: int, seed: int) -> list[Any]:
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed)
    log = [observation, info]
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert observation in env.observation_space
        log += [observation, reward, terminated, truncated, info]
        if terminated or truncated:
            observation, info = env.reset()
            log.append(observation)
    return log


@pytest.mark.parametrize(
    ("name", "options"),
    [("block", {"num_blocks": None, "noise": 0.1}), ("mouse", {"num_traps": (0, 3)})],
)
def test_a_seed_fixes_everything(name, options):
    first, second, other = (_play(make(name, **options), 100, seed) for seed in (3, 3, 4))
    np.testing.assert_equal(first, second)
    with pytest.raises(AssertionError):
        np.testing.assert_equal(first, other)


def test_the_seed_of_the_environment_is_that_of_its_first_reset():
    env, same, later = make("block", seed=5), make("block"), make("block", seed=5)
    first = env.reset()[0]
    np.testing.assert_equal(first, same.reset(seed=5)[0])
    np.testing.assert_equal(first, later.reset()[0])
    with pytest.raises(AssertionError):
        np.testing.assert_equal(first, env.reset()[0])


def test_observations_are_padded_and_masked():
    env = make("mouse", num_food=(0, 6), seed=0)
    observation, _ = env.reset()
    food = observation["Food"]
    count = int(food["present"].sum())
    assert list(observation) == ["Mouse", "Food", "Monster", "Trap"]
    assert list(food) == ["amount", "position", "present"]
    assert (food["present"].dtype, food["amount"].dtype, food["position"].dtype) == (
        np.int8, np.float32, np.int64,
    )  # fmt: skip
    assert food["position"].shape == (6, 2)
    assert not food["amount"][count:].any() and not food["position"][count:].any()


def test_the_spaces_name_what_acts():
    env = make("mouse")
    assert list(env.action_space) == ["Mouse"]
    assert env.action_space["Mouse"]["move"] == gymnasium.spaces.MultiDiscrete([5])
    block = make("block", num_blocks=3).action_space["Block"]["a"]
    assert block == gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)


def test_random_actions_of_the_space_are_the_random_policy_of_block():
    space = make("block", num_blocks=8).action_space
    space.seed(0)
    draws = np.concatenate([space.sample()["Block"]["a"] for _ in range(1000)])
    assert draws.std() == pytest.approx(1, rel=0.05)


def test_episodes_are_cut_after_the_world_s_steps():
    env = make("block", max_episode_steps=3, seed=0)
    env.reset()
    action = {"Block": {"a": np.zeros(5, np.float32)}}
    assert [env.step(action)[3] for _ in range(3)] == [False, False, True]
    env.reset()
    assert env.step(action)[3] is False


def test_an_observation_is_the_caller_s_own():
    env = make("mouse", seed=0)
    observation, _ = env.reset()
    observation["Food"]["position"][:] = 99
    stay = {"Mouse": {"move": np.array([4])}}
    assert env.step(stay)[0] in env.observation_space


def test_the_world_s_parts_are_attributes():
    world = MouseWorld()
    env = WorldGym(world)
    assert env.world is world and env.schema is world.schema
    assert env.true_graph is world.true_graph and env.task is world.task
    assert env.max_objects == world.max_objects


def test_actions_of_absent_objects_are_ignored():
    env = make("block", num_blocks=None, seed=0)
    present = env.reset()[0]["Block"]["present"].astype(bool)
    assert not present.all()
    pushes = np.where(present, 0.5, np.nan).astype(np.float32)
    after = env.step({"Block": {"a": pushes}})[0]
    assert not after["Block"]["s1"][~present].any()


@pytest.mark.parametrize(
    ("name", "action", "message"),
    [
        (
            "block",
            {"Block": {"a": np.zeros(4)}},
            "Action `Block.a`: expected shape (5,), got (4,).",
        ),
        (
            "block",
            {"Block": {"a": np.full(5, np.nan)}},
            "Action `Block.a`: expected a finite number, got nan. The schema declares what the "
            "field allows.",
        ),
        (
            "mouse",
            {"Mouse": {"move": [5]}},
            "Action `Mouse.move`: expected a whole number from 0 to 4, got 5. The schema declares "
            "what the field allows.",
        ),
        (
            "mouse",
            {"Mous": {"move": [1]}},
            "Action: unknown classes, `Mous`. Did you mean `Mouse`? Known: Mouse.",
        ),
        ("mouse", {"Mouse": {}}, "Action: missing fields of `Mouse`: move."),
    ],
)
def test_bad_actions_are_refused(name, action, message):
    env = make(name, seed=0)
    env.reset()
    with pytest.raises(DataError) as error:
        env.step(action)
    assert str(error.value) == message


def test_a_step_needs_a_reset():
    with pytest.raises(DataError, match="has no state yet"):
        make("mouse").step({"Mouse": {"move": [1]}})


def test_block_has_no_picture():
    with pytest.raises(OocdmError) as error:
        WorldGym(BlockWorld(), render_mode="rgb_array")
    assert str(error.value) == (
        "render_mode='rgb_array' is not available for BlockWorld. "
        "Known: none, this world has no picture."
    )
    env = make("block")
    assert env.metadata["render_modes"] == []
    env.reset()
    assert env.render() is None


class Lamp(ObjectClass):
    lit = Boolean()
    watts = Integer(low=1)
    dim = Real(low=2.0, high=3.0)
    switch = Boolean(action=True)


class LampWorld(AbstractWorld):
    """A world of other people, with fields that ours do not have."""

    schema = Schema(Lamp)
    max_objects = {"Lamp": 2}  # noqa: RUF012
    max_episode_steps = 5

    def reset(self, num_worlds, rng):
        shape = (num_worlds, 2)
        present = np.tile([True, False], (num_worlds, 1))
        values = {
            "lit": np.zeros(shape, np.int64),
            "watts": 60 * present.astype(np.int64),
            "dim": 2.5 * present.astype(np.float32),
        }
        return WorldState({"Lamp": values}, {"Lamp": present})

    def random_actions(self, state, rng):
        return {"Lamp": {"switch": rng.integers(2, size=state.present["Lamp"].shape)}}

    def step(self, state, actions, rng):
        num_worlds = len(state.present["Lamp"])
        lamp = {**state.values["Lamp"], "lit": actions["Lamp"]["switch"]}
        zeros = np.zeros(num_worlds)
        return WorldState({"Lamp": lamp}, state.present), zeros, zeros > 0


def test_all_kinds_of_fields_have_spaces():
    env = WorldGym(LampWorld())
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    switch = np.array([1, 1])
    assert {"Lamp": {"switch": switch}} in env.action_space
    after = env.step({"Lamp": {"switch": switch}})[0]
    assert after in env.observation_space
    assert after["Lamp"]["lit"].tolist() == [1, 0]
    assert env.true_graph is None and env.task is None


def test_a_field_cannot_be_called_present():
    class Guest(ObjectClass):
        present = Boolean()

    class GuestWorld(LampWorld):
        schema = Schema(Guest)
        max_objects = {"Guest": 2}  # noqa: RUF012

    with pytest.raises(SchemaError, match="the name `present` is reserved"):
        WorldGym(GuestWorld())
