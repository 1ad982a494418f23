from __future__ import annotations

import numpy as np
import pytest

from oocdm.envs.asymblock import AsymBlockWorld
from oocdm.envs.block import BlockWorld
from oocdm.errors import OocdmError
from oocdm.worlds.check_world import check_world
from oocdm.worlds.world import WorldState


def state_of(block: list[list[float]], total: list[list[float]]) -> WorldState:
    """One world: rows (s1, s2, s3) of its blocks, and (s1, s2, s3, t) of its Totals."""
    rows, sums = np.array(block, dtype=np.float32), np.array(total, dtype=np.float32)
    return WorldState(
        {
            "Block": {f: rows[None, :, i] for i, f in enumerate(("s1", "s2", "s3"))},
            "Total": {f: sums[None, :, i] for i, f in enumerate(("s1", "s2", "s3", "t"))},
        },
        {"Block": np.ones((1, len(rows)), dtype=bool), "Total": np.ones((1, len(sums)), bool)},
    )


def test_every_total_follows_the_largest_of_the_blocks_up_to_it(still):
    world = AsymBlockWorld(num_blocks=3)
    state = state_of(
        [[1, -4, 0], [-2, 6, 0], [5, 2, -1]],
        [[3, 0, 0, 7], [1, 2, 4, 0], [-1, 0, 2, -3]],
    )
    push = {"Block": {"a": np.array([[np.arctanh(0.5), 0, 0]], dtype=np.float32)}}
    after, reward, terminated = world.step(state, push, still)
    total, block = after.values["Total"], after.values["Block"]
    assert total["s1"].tolist() == [[2, 1, 2]]  # half the way to 1, 1 and 5
    assert total["s2"].tolist() == [[-2, 4, 3]]  # to -4, 6 and 6
    assert total["s3"].tolist() == [[0, 2, 1]]  # to 0, 0 and 0
    assert total["t"].tolist() == [[8, 1, -2]]  # each has its own clock
    np.testing.assert_allclose(block["s1"], [[0.85, -2, 5]], rtol=1e-6)
    np.testing.assert_allclose(block["s2"], [[-3.5, 5, 4.5]], rtol=1e-6)
    assert reward.tolist() == [0.0] and terminated.tolist() == [False]


def test_blocks_are_those_of_block():
    ours, theirs = AsymBlockWorld(num_blocks=4, variant="released"), BlockWorld(num_blocks=4)
    assert ours.schema == theirs.schema and ours.true_graph == theirs.true_graph
    assert ours.max_objects == {"Block": 4, "Total": 4}
    one, other = (
        world.reset(9, np.random.default_rng(3)).values["Block"]
        for world in (ours, BlockWorld(num_blocks=4, variant="released"))
    )
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name])


@pytest.mark.parametrize(
    ("variant", "ood", "mean", "total_sd"),
    [("paper", False, 1, 0.01), ("released", False, 1, 0), ("paper", True, 0.5, 0.01)],
)
def test_the_start_is_that_of_block(variant, ood, mean, total_sd):
    world = AsymBlockWorld(num_blocks=5, variant=variant, ood=ood)
    values = world.reset(5_000, np.random.default_rng(0)).values
    assert values["Block"]["s1"].mean() == pytest.approx(mean, abs=0.03)
    assert values["Total"]["s2"].shape == (5_000, 5)
    assert values["Total"]["s2"].std() == pytest.approx(total_sd, rel=0.03)
    assert not values["Total"]["t"].any()


def test_clocks_have_noise_of_their_own():
    world, rng = AsymBlockWorld(num_blocks=2), np.random.default_rng(0)
    state = world.reset(5_000, rng)
    after, _, _ = world.step(state, world.random_actions(state, rng), rng)
    clocks = after.values["Total"]["t"]
    assert clocks.std(0) == pytest.approx([0.01, 0.01], rel=0.05)
    assert np.corrcoef(clocks.T)[0, 1] == pytest.approx(0, abs=0.05)


def test_without_a_number_there_are_as_many_totals_as_blocks():
    world, rng = AsymBlockWorld(num_blocks=None), np.random.default_rng(0)
    state = world.reset(500, rng)
    after, _, _ = world.step(state, world.random_actions(state, rng), rng)
    for each in (state, after):
        np.testing.assert_array_equal(each.present["Block"], each.present["Total"])
        for values in each.values["Total"].values():
            assert np.isfinite(values).all() and not values[~each.present["Total"]].any()
    assert set(state.present["Total"].sum(1)) == set(range(1, 9))


def test_equal_seeds_give_equal_episodes():
    def run(seed: int) -> np.ndarray:
        world, rng = AsymBlockWorld(noise=0.01), np.random.default_rng(seed)
        state = world.reset(3, rng)
        state, _, _ = world.step(state, world.random_actions(state, rng), rng)
        return world.observe(state, rng).values["Total"]["s1"]

    np.testing.assert_array_equal(run(1), run(1))
    assert (run(1) != run(2)).all()


def test_the_true_graph_of_variables_tells_which_blocks_a_total_reads():
    graph = AsymBlockWorld().true_variable_graph
    pairs = [
        f"Total[{c}].s{j} <- Block[{i}].s{j}"
        for c in range(5)
        for i in range(5)
        for j in (1, 2, 3)
        if i <= c
    ]
    assert len(pairs) == 45  # of 75
    between = {str(edge) for edge in graph.edges() if str(edge).startswith("Total")}
    own = {f"Total[{c}].{f} <- Total[{c}].{f}" for c in range(5) for f in ("s1", "s2", "s3", "t")}
    assert between == own | set(pairs)
    assert graph.parents("Block[3].s2") == ["Block[3].s1", "Block[3].s2"]


@pytest.mark.parametrize("variant", ["paper", "released"])
def test_single_variables_have_exactly_the_effects_of_the_true_graph(variant):
    world, rng = AsymBlockWorld(num_blocks=3, variant=variant), np.random.default_rng(0)
    state = world.reset(300, rng)
    actions = world.random_actions(state, rng)
    plain, _, _ = world.step(state, actions, np.random.default_rng(1))
    found = set()
    for c, fields in {
        **state.values,
        "Block": {**state.values["Block"], **actions["Block"]},
    }.items():
        for f in fields:
            for row in range(3):
                changed = {n: {k: v.copy() for k, v in d.items()} for n, d in state.values.items()}
                acted = {"Block": {"a": actions["Block"]["a"].copy()}}
                (acted if f == "a" else changed)[c][f][:, row] = rng.uniform(-9, 9, 300)
                after, _, _ = world.step(
                    WorldState(changed, state.present), acted, np.random.default_rng(1)
                )
                for d, values in plain.values.items():
                    for g, value in values.items():
                        for other in np.flatnonzero((value != after.values[d][g]).any(0)):
                            found.add(f"{d}[{other}].{g} <- {c}[{row}].{f}")
    assert found == set(map(str, world.true_variable_graph.edges()))


def test_nothing_is_wrong_with_it():
    assert check_world(AsymBlockWorld(num_blocks=3, noise=0.01)) == []
    assert check_world(AsymBlockWorld(num_blocks=None)) == []


def test_bad_options_are_refused():
    with pytest.raises(OocdmError, match="Option `num_blocks`: expected a whole number from 1"):
        AsymBlockWorld(num_blocks=0)
