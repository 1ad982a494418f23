from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env

import oocdm
from oocdm.data.snapshot import Snapshot
from oocdm.envs.walker.engine import make_walker2d
from oocdm.envs.walker.world import READS, SCHEMA, WalkerWorld, is_healthy, seen_of
from oocdm.errors import OocdmError
from oocdm.planning import TrueSimulator
from oocdm.worlds.world import WorldState


@pytest.fixture(scope="module")
def world() -> WalkerWorld:
    return WalkerWorld()


def torques_of(*rows: float) -> dict[str, dict[str, np.ndarray]]:
    """The same torque on all joints of each world."""
    return {"Joint": {"torque": np.repeat(np.array(rows, np.float32)[:, None], 6, axis=1)}}


def state_of(z: float, angle: float, x_velocity: float) -> WorldState:
    joint = {name: np.zeros((1, 6), np.float32) for name in ("angle", "angular_velocity")}
    top = {"angle": angle, "angular_velocity": 0, "x_velocity": x_velocity, "z": z, "z_velocity": 0}
    return WorldState(
        {"Joint": joint, "Top": {n: np.full((1, 1), v, np.float32) for n, v in top.items()}},
        {"Joint": np.ones((1, 6), bool), "Top": np.ones((1, 1), bool)},
    )


def test_it_has_17_state_and_6_action_numbers(world):
    state_numbers = sum(n * len(SCHEMA.targets(c)) for c, n in world.max_objects.items())
    assert (state_numbers, world.max_objects) == (17, {"Joint": 6, "Top": 1})
    assert [f for f, field in SCHEMA.fields("Joint").items() if field.action] == ["torque"]
    assert world.max_episode_steps == 500
    assert world.true_graph is None and world.true_variable_graph is None


def test_several_walkers_are_each_as_gymnasium_s(world):
    rng = np.random.default_rng(4)
    state = world.reset(2, rng)
    plain, again = make_walker2d(), np.random.default_rng(4)
    plain.np_random = again
    plain.reset()  # the first of the two
    second = plain.reset()[0]
    actions = [world.random_actions(state, rng) for _ in range(25)]
    for each in actions:
        state, _, _ = world.step(state, each, rng)
        second = plain.step(each["Joint"]["torque"][1])[0]
    np.testing.assert_array_equal(seen_of(state)[1], second.astype(np.float32))
    top, joint = state.values["Top"], state.values["Joint"]
    assert [float(top[f][1, 0]) for f in ("z", "angle", "x_velocity")] == pytest.approx(
        [second[0], second[1], second[8]], rel=1e-6
    )
    np.testing.assert_array_equal(joint["angle"][1], second[2:8].astype(np.float32))
    np.testing.assert_array_equal(joint["angular_velocity"][1], second[11:].astype(np.float32))
    assert {v.dtype for fields in state.values.values() for v in fields.values()} == {
        np.dtype(np.float32)
    }


@pytest.mark.parametrize(
    ("z", "angle", "healthy"),
    [
        (1.25, 0.0, 1),
        (0.8, 0.0, 0),
        (0.81, 0.99, 1),
        (2.0, 0.0, 0),
        (1.9, -1.0, 0),
        (1.2, 1.01, 0),
    ],
)
def test_the_reward_reads_the_state_before(world, z, angle, healthy):
    state = state_of(z, angle, x_velocity=2.5)
    _, reward, terminated = world.step(state, torques_of(0.5), np.random.default_rng(0))
    assert reward.tolist() == pytest.approx([healthy + 2.5 - 0.001 * 6 * 0.25])
    assert not terminated.any()
    assert bool(is_healthy(np.float32(z), np.float32(angle))) == bool(healthy)


def test_the_task_agrees_with_the_world(world):
    rng = np.random.default_rng(0)
    state = world.reset(6, rng)
    for _ in range(30):
        before, actions = state, world.random_actions(state, rng)
        state, reward, _ = world.step(state, actions, rng)
    values = {c: {f: torch.tensor(v) for f, v in d.items()} for c, d in before.values.items()}
    values["Joint"]["torque"] = torch.tensor(actions["Joint"]["torque"])
    batch = Snapshot.of(SCHEMA, values)
    assert world.task.watched_reward(batch, batch).numpy() == pytest.approx(reward, rel=1e-5)
    assert not world.task.terminated(batch).any()
    assert world.task.reads == READS


def test_velocities_are_cut_off_in_what_is_logged_alone(world):
    rng = np.random.default_rng(0)
    state = world.reset(1, rng)
    fastest = 0.0
    for _ in range(60):
        state, _, _ = world.step(state, torques_of(1.0), rng)
        fastest = max(fastest, float(np.abs(state.memory["engine"][0, 10:19]).max()))
        assert np.abs(seen_of(state)[:, 8:]).max() <= 10
    assert fastest > 10


def test_without_memory_a_step_goes_on_from_the_fields(world):
    rng = np.random.default_rng(0)
    state = world.reset(2, rng)
    bare = replace(state, memory={})
    one, other = (world.step(each, torques_of(0.3, -1.0), rng)[0] for each in (state, bare))
    np.testing.assert_allclose(seen_of(one), seen_of(other), atol=1e-5)
    assert TrueSimulator(world).schema == SCHEMA


def test_the_true_dynamics_can_be_planned_with(world):
    env = oocdm.make("walker")
    transitions = oocdm.collect(env, steps=20, seed=0).transitions()
    before, after = transitions.before, TrueSimulator(env).step(transitions.before, seed=0)
    # A planner knows the observed velocities, which are cut off.
    whole = (before["Joint.angular_velocity"].abs() < 10).all(1)
    assert 0 < whole.sum() < 20
    found, expected = after["Joint.angle"][whole], transitions.after["Joint.angle"][whole]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_torques_are_uniform_and_the_start_upright(world):
    rng = np.random.default_rng(0)
    state = world.reset(200, rng)
    torques = world.random_actions(state, rng)["Joint"]["torque"]
    assert torques.dtype == np.float32 and np.abs(torques).max() <= 1
    assert torques.std() == pytest.approx(2 / np.sqrt(12), rel=0.03)
    z = state.values["Top"]["z"]
    assert np.abs(z - 1.25).max() <= 0.005 and z.std() == pytest.approx(0.01 / np.sqrt(12), rel=0.1)


def test_nothing_is_wrong_with_it():
    assert oocdm.check_world(WalkerWorld(max_episode_steps=5)) == []


def test_it_is_a_gymnasium_environment():
    check_env(gymnasium.make("oocdm/Walker-v0").unwrapped, skip_render_check=True)
    env = oocdm.make("walker", max_episode_steps=3)
    env.reset(seed=0)
    env.action_space.seed(0)
    ends = [env.step(env.action_space.sample())[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_equal_seeds_give_equal_data():
    one, same, other = (oocdm.collect(oocdm.make("walker"), steps=30, seed=s) for s in (1, 1, 2))
    values = [each.values["Joint"]["angle"] for each in (one, same, other)]
    np.testing.assert_array_equal(values[0], values[1])
    assert (values[0] != values[2]).any()


def test_it_can_be_copied_and_pickled(world):
    state = world.reset(1, np.random.default_rng(0))
    expected, _, _ = world.step(state, torques_of(0.5), np.random.default_rng(0))
    for again in (copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        found, _, _ = again.step(state, torques_of(0.5), np.random.default_rng(0))
        np.testing.assert_array_equal(seen_of(found), seen_of(expected))


def test_torques_out_of_range_and_unknown_options_are_refused():
    env = oocdm.make("walker")
    env.reset(seed=0)
    with pytest.raises(oocdm.DataError, match=r"Action `Joint.torque`: .* 1.5"):
        env.step({"Joint": {"torque": np.full(6, 1.5)}})
    with pytest.raises(OocdmError, match="Environment `walker` has no option `variant`"):
        oocdm.make("walker", variant="released")
    with pytest.raises(OocdmError, match="Option `max_episode_steps`: expected a whole number"):
        WalkerWorld(max_episode_steps=0)
