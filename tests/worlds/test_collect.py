from __future__ import annotations

import time
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from oocdm.schema import ObjectClass, Real, Schema
from oocdm.worlds import AbstractWorld, WorldState, collect
from tests.data.mistakes import fails


@pytest.mark.parametrize("steps", [1, 3, 8, 9, 100, 400])
@pytest.mark.parametrize("end", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("num_worlds", [None, 1, 7])
def test_exactly_the_asked_transitions_in_whole_episodes(make_world, steps, end, num_worlds):
    data = collect(make_world(end), steps, num_worlds=num_worlds)
    assert len(data) == steps
    assert data.episode_ids.tolist() == list(range(data.num_episodes))
    first = np.flatnonzero(np.diff(data.episode, prepend=-1))
    assert (data.step == np.arange(len(data.step)) - first[data.episode]).all()
    ends = data.terminated | data.truncated
    assert np.array_equal(np.flatnonzero(ends) + 1, np.flatnonzero(data.is_last))
    lengths = np.bincount(data.episode) - 1
    assert (data.truncated[data.starts].sum() > 0) or end > 0
    is_full = lengths == 8
    cut = data.truncated[np.flatnonzero(data.is_last) - 1]
    assert (is_full | ~cut)[:-1].all()  # only the last episode may be cut early


def test_a_transition_is_a_step_of_the_world(make_world):
    data = collect(make_world(), 400)
    assert (data.values["Ant"]["x"][data.present["Ant"]] >= 0).all()
    batch = data.transitions()
    both = batch.counted("Ant").numpy()
    step = (batch.after["Ant", "x"] - batch.before["Ant", "x"]).numpy()
    assert (step[both] == 1).all()
    assert (data.reward[data.starts] == data.step[data.starts] + 1).all()


def test_objects_die_and_unused_slots_are_trimmed(make_world):
    data = collect(make_world(), 1000)
    assert data.present["Ant"].shape[1] == 4  # the world has room for 6
    counts = data.present["Ant"].sum(axis=1)
    assert len(np.unique(counts)) > 2
    assert (data.values["Ant"]["mass"][~data.present["Ant"]] == 0).all()
    assert np.array_equal(
        data.observed["Ant"]["push"], data.present["Ant"] & ~data.is_last[:, None]
    )


def test_the_seed_decides(make_world):
    first, again = (collect(make_world(noise=0.1), 300, seed=4) for _ in range(2))
    other = collect(make_world(noise=0.1), 300, seed=5)
    for field, values in first.values["Ant"].items():
        assert np.array_equal(values, again.values["Ant"][field])
    assert not np.array_equal(
        first.values["Hill"]["height"][:100], other.values["Hill"]["height"][:100]
    )


def test_a_state_is_observed_once(make_world):
    data = collect(make_world(end=0, noise=1.0), 80)
    assert len(data.episode) == 90  # one row a state, shared by two transitions
    noise = (data.values["Ant"]["x"] - data.step[:, None])[data.present["Ant"]]
    assert 0.8 < noise.std() < 1.2


def test_a_world_may_step_its_arrays_in_place(make_world):
    data = collect(make_world(end=0, in_place=True), 80)
    assert (
        data.values["Ant"]["x"][data.present["Ant"]]
        == np.repeat(data.step, data.present["Ant"].sum(axis=1))
    ).all()


def test_ended_worlds_are_not_stepped(make_world):
    world = make_world(end=0.5)
    collect(world, 2000)
    assert world.worlds_stepped < 2000 * 1.3


def test_a_policy_sees_what_is_logged(make_world):
    def follow(state, rng):
        x = state.values["Ant"]["x"]
        return {"Ant": {"push": 2 * x, "carry": np.ones(x.shape, dtype=bool)}}

    data = collect(make_world(noise=0.5), 200, policy=follow)
    batch = data.transitions()
    on = batch.before.present["Ant"]
    assert np.allclose(batch.before["Ant", "push"][on], 2 * batch.before["Ant", "x"][on])
    assert (batch.before["Ant", "carry"][on] == 1).all()


def test_policy_errors(make_world):
    with fails(
        "collect: the policy's actions for `Ant.push`: expected an array of shape (13, 6) (world, "
        "object, ...), got nothing."
    ):
        collect(make_world(), 100, policy=lambda state, rng: {})
    with fails(
        "collect: the policy's actions for `Ant.push`: expected an array of shape (13, 6) (world, "
        "object, ...), got shape (3,)."
    ):
        collect(make_world(), 100, policy=lambda state, rng: {"Ant": {"push": np.zeros(3)}})


def test_environments_and_strangers(make_world):
    env = SimpleNamespace(unwrapped=SimpleNamespace(world=make_world()))
    assert len(collect(env, 10)) == 10
    with fails(
        "collect: expected an environment from oocdm.make or an oocdm.AbstractWorld, got "
        "str. Log other simulators yourself and use Dataset.from_frames."
    ):
        collect("block", 10)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "9"])
def test_wrong_numbers(make_world, wrong):
    with fails(f"collect: `steps`: expected a whole number of at least 1, got {wrong!r}."):
        collect(make_world(), wrong)
    kind = "" if type(wrong) is int else " or None"
    with fails(
        f"collect: `num_worlds`: expected a whole number of at least 1{kind}, got {wrong!r}."
    ):
        collect(make_world(), 5, num_worlds=wrong)


def test_progress(make_world):
    seen = []
    collect(make_world(), 100, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (100, 100)
    assert seen == sorted(seen)
    assert len(seen) > 3


def test_a_world_that_breaks_its_schema(make_world):
    world = make_world()
    world.observe = lambda state, rng: type(state)(
        {**state.values, "Hill": {"height": state.values["Hill"]["height"] * np.nan}}, state.present
    )
    with fails("Field `Hill.height`: expected a finite number (float32), got nan at episode 0"):
        collect(world, 10)


def test_speed(make_world):
    world = make_world(end=0)
    world.max_episode_steps = 30
    collect(world, 1000)
    start = time.perf_counter()
    collect(world, 20_000)
    # The target is 200,000 a second; a busy machine gets some slack.
    assert 20_000 / (time.perf_counter() - start) > 50_000


def test_places_that_no_object_takes_are_not_kept():
    class Ball(ObjectClass):
        x = Real()
        push = Real(action=True)

    class Crowd(AbstractWorld):
        schema, max_episode_steps, max_objects = Schema(Ball), 100, {"Ball": 5000}

        def reset(self, num_worlds, rng):
            present = np.zeros((num_worlds, 5000), dtype=bool)
            present[:, [0, 4999]] = True
            return WorldState({"Ball": {"x": present * 1.0}}, {"Ball": present})

        def random_actions(self, state, rng):
            return {"Ball": {"push": state.present["Ball"] * 0.5}}

        def step(self, state, actions, rng):
            x = state.values["Ball"]["x"] + actions["Ball"]["push"]
            return WorldState({"Ball": {"x": x}}, state.present), x[:, 0], np.zeros(len(x), bool)

    tracemalloc.start()
    try:
        data = collect(Crowd(), steps=1000, num_worlds=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1000 * 5000  # a byte per place
    assert data.cells["Ball"].places.width == 5000
    assert data.transitions(slice(3, 4)).before["Ball.x"][0, [0, 1, -1]].tolist() == [2.5, 0, 2.5]
    assert data.transitions(slice(3, 4)).before["Ball.push"][0, [0, 1, -1]].tolist() == [
        0.5,
        0,
        0.5,
    ]
