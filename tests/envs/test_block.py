from __future__ import annotations

import numpy as np
import pytest
import torch

from oocdm.data.snapshot import Snapshot
from oocdm.envs.block import READS, BlockWorld
from oocdm.errors import OocdmError
from oocdm.worlds.world import WorldState


def state_of(block: list[list[float]], total: list[float]) -> WorldState:
    """One world: rows (s1, s2, s3) of its blocks, and (s1, s2, s3, t) of its Total."""
    rows, one = np.array(block, dtype=np.float32), np.array(total, dtype=np.float32)
    return WorldState(
        {
            "Block": {f: rows[None, :, i] for i, f in enumerate(("s1", "s2", "s3"))},
            "Total": {f: one[None, i : i + 1] for i, f in enumerate(("s1", "s2", "s3", "t"))},
        },
        {"Block": np.ones((1, len(rows)), dtype=bool), "Total": np.ones((1, 1), dtype=bool)},
    )


def act(*pushes: float) -> dict[str, dict[str, np.ndarray]]:
    return {"Block": {"a": np.array([pushes], dtype=np.float32)}}


@pytest.mark.parametrize(("variant", "coefficient"), [("paper", -0.3), ("released", -0.2)])
def test_a_transition_follows_the_equations(variant, coefficient, still):
    world = BlockWorld(num_blocks=2, variant=variant)
    state = state_of([[1, 2, 4], [-1, 6, -8]], [3, 4, 5, 7])
    after, reward, terminated = world.step(state, act(np.arctanh(0.5), 0), still)
    block, total = after.values["Block"], after.values["Total"]
    np.testing.assert_allclose(block["s1"], [[1 + coefficient * 0.5, -1]], rtol=1e-6)
    np.testing.assert_allclose(block["s2"], [[2.5, 5.5]], rtol=1e-6)
    np.testing.assert_allclose(block["s3"], [[0.5 + 3 + 0.5, 1.5 - 6]], rtol=1e-6)
    assert [float(total[f][0, 0]) for f in ("s1", "s2", "s3", "t")] == [2.0, 5.0, 4.5, 8.0]
    assert reward.tolist() == [0.0] and terminated.tolist() == [False]


def test_absent_blocks_stay_zero_and_do_not_enter_the_maximum(still):
    world = BlockWorld(num_blocks=None)
    state = state_of([[-4, -4, -4], [0, 0, 0]], [0, 0, 0, 0])
    state.present["Block"][0, 1] = False
    after, _, _ = world.step(state, act(1, 1), still)
    assert after.values["Total"]["s1"].tolist() == [[-2.0]]
    assert all(v[0, 1] == 0 for v in after.values["Block"].values())


def test_the_transition_noise_has_sd_001_and_spares_the_totals():
    world = BlockWorld(num_blocks=1)
    rng = np.random.default_rng(0)
    state = world.reset(20_000, rng)
    after, _, _ = world.step(state, {"Block": {"a": np.zeros((20_000, 1), np.float32)}}, rng)
    before, block = state.values["Block"], after.values["Block"]
    assert np.std(block["s1"] - before["s1"]) == pytest.approx(0.01, rel=0.03)
    s3 = 0.25 * before["s2"] + 0.75 * before["s3"]
    assert np.std(block["s3"] - s3) == pytest.approx(0.01, rel=0.03)
    assert np.std(after.values["Total"]["t"]) == pytest.approx(0.01, rel=0.03)
    expected = 0.5 * state.values["Total"]["s1"] + 0.5 * before["s1"]
    np.testing.assert_array_equal(after.values["Total"]["s1"], expected)


@pytest.mark.parametrize(
    ("variant", "ood", "means", "sds", "total_sd"),
    [
        ("paper", False, (1, 0, 0), (0.5, 1, 1), 0.01),
        ("paper", True, (0.5, 0, 0), (0.5, 2, 2), 0.01),
        ("released", False, (1, 0, 0), (1, 1, 1), 0),
        ("released", True, (0, 1, 0), (1, 2, 2), 0),
    ],
)
def test_the_start_has_the_stated_distribution(variant, ood, means, sds, total_sd):
    world = BlockWorld(num_blocks=5, variant=variant, ood=ood)
    values = world.reset(10_000, np.random.default_rng(0)).values
    for name, mean, sd in zip(("s1", "s2", "s3"), means, sds, strict=True):
        assert values["Block"][name].mean() == pytest.approx(mean, abs=0.03)
        assert values["Block"][name].std() == pytest.approx(sd, rel=0.02)
        assert values["Total"][name].std() == pytest.approx(total_sd, rel=0.03)
    assert not values["Total"]["t"].any()


def test_an_episode_ends_beyond_1000(still):
    world = BlockWorld(num_blocks=1)
    for s2, ends in ((1000.0, False), (1000.5, True), (-1000.5, True)):
        after, _, terminated = world.step(state_of([[0, s2, 0]], [0, 0, 0, 0]), act(0), still)
        assert terminated.tolist() == [ends]
        values = {
            c: {f: torch.from_numpy(v) for f, v in fields.items()}
            for c, fields in after.values.items()
        }
        snapshot = Snapshot.of(world.schema, values)
        assert world.task.terminated(snapshot).tolist() == [ends]
        assert world.task.reward(snapshot, snapshot).tolist() == [0.0]


def test_the_task_reads_every_state():
    world = BlockWorld()
    world.task.check(world.schema)
    assert world.task.reads == READS
    assert READS == (
        "Block.s1", "Block.s2", "Block.s3", "Total.s1", "Total.s2", "Total.s3", "Total.t",
    )  # fmt: skip


def test_actions_are_standard_normal():
    world = BlockWorld(num_blocks=5)
    rng = np.random.default_rng(0)
    actions = world.random_actions(world.reset(10_000, rng), rng)["Block"]["a"]
    assert actions.dtype == np.float32 and actions.shape == (10_000, 5)
    assert actions.mean() == pytest.approx(0, abs=0.02)
    assert actions.std() == pytest.approx(1, rel=0.02)
    assert (np.abs(actions) < 1).mean() == pytest.approx(0.6827, abs=0.01)


def test_without_a_number_episodes_have_one_to_eight_blocks():
    world = BlockWorld(num_blocks=None)
    rng = np.random.default_rng(0)
    state = world.reset(8000, rng)
    counts = state.present["Block"].sum(1)
    assert world.max_objects == {"Block": 8, "Total": 1}
    assert np.bincount(counts, minlength=9)[1:].min() > 850 and counts.min() == 1
    actions = world.random_actions(state, rng)
    absent = ~state.present["Block"]
    for value in (*state.values["Block"].values(), actions["Block"]["a"]):
        assert not value[absent].any()


def test_observation_noise_touches_all_states_of_present_objects_but_not_the_world():
    world = BlockWorld(num_blocks=None, noise=0.01)
    rng = np.random.default_rng(0)
    state = world.reset(10_000, rng)
    seen = world.observe(state, rng)
    for name, fields in seen.values.items():
        for field, value in fields.items():
            change = (value - state.values[name][field])[state.present[name]]
            assert change.std() == pytest.approx(0.01, rel=0.05)
            assert value.dtype == np.float32
            assert not value[~state.present[name]].any()
    quiet = BlockWorld(num_blocks=2)
    assert quiet.observe(state, rng) is state


def test_arrays_are_float32():
    world = BlockWorld(num_blocks=3, noise=0.1)
    rng = np.random.default_rng(0)
    state = world.reset(4, rng)
    after, reward, terminated = world.step(state, world.random_actions(state, rng), rng)
    for moment in (state, after, world.observe(after, rng)):
        assert {v.dtype for fields in moment.values.values() for v in fields.values()} == {
            np.dtype(np.float32)
        }
    assert reward.dtype == np.float32 and terminated.dtype == bool


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"num_blocks": 0},
            "Option `num_blocks`: expected a whole number from 1 to 1000000, got 0.",
        ),
        ({"noise": -1}, "Option `noise`: expected a number of at least 0, got -1."),
        (
            {"variant": "release"},
            "Option `variant`: unknown value 'release'. Did you mean `released`? "
            "Known: paper, released.",
        ),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(OocdmError) as error:
        BlockWorld(**options)
    assert str(error.value) == message
