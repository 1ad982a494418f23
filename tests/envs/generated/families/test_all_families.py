"""What worlds of all families have in common. One seed: a world takes some time to draw."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import oocdm
from oocdm.envs.generated import GeneratedWorld
from oocdm.envs.generated.distribution import Choice, Counts, Jumping, NextCategory, Normal
from oocdm.envs.generated.families import FAMILIES
from oocdm.envs.generated.pilot import run_pilot
from oocdm.envs.generated.world import _coin
from oocdm.errors import OocdmError
from tests.envs.generated.interventions import graph_found


def world_of(family: str, ood: bool = False) -> GeneratedWorld:
    """A world of a family; `GeneratedWorld` remembers what it has drawn."""
    return GeneratedWorld(family=family, world_seed=1, ood=ood)


of_each_family = pytest.mark.parametrize("family", FAMILIES)


@of_each_family
def test_the_true_graph_is_what_interventions_show(family):
    world = world_of(family)
    assert str(graph_found(world._blueprint)) == str(world.true_graph)


@of_each_family
def test_nothing_is_wrong_with_a_world(family):
    assert oocdm.check_world(world_of(family)) == []


@of_each_family
def test_fields_stay_bounded_out_of_distribution_too(family):
    far = run_pilot(world_of(family)._blueprint, 60, 100, [9], ood=True)
    assert far.largest() < 100


@of_each_family
def test_a_world_has_decoys_inputs_and_usual_sizes(family):
    world = world_of(family)
    assert 2 <= len(world.max_objects) <= 4
    assert all(2 <= n <= 8 for n in world.max_objects.values())
    kinds = [world.schema.fields(c) for c in world.schema.classes]
    assert all(2 <= len(fields) <= 5 for fields in kinds)
    lines = world.describe().splitlines()
    assert len(lines) == 1 + len(world.mechanisms)
    static = [s for s in world._blueprint.starts.values() if s.near]
    assert static or "(a decoy of" in world.describe()
    drifts = [m for m in world.mechanisms if m.sources == [m.own]]
    assert drifts or any(field.action for fields in kinds for field in fields.values())


@of_each_family
def test_sampled_steps_agree_with_the_distribution(family):
    """Numbers have uniform ranks in their own distributions, and choices their frequencies."""
    world, rng = world_of(family), np.random.default_rng(0)
    state = world.reset(800, rng)
    for _ in range(3):
        actions = world.random_actions(state, rng)
        found = world.distribution(state, actions)
        before, state = state, world.step(state, actions, rng)[0]
    for c, fields in found.items():
        present = before.present[c]
        for f, distribution in fields.items():
            ranks = ranks_of(distribution, state.values[c][f], rng)[present]
            if ranks.std() > 0:  # else it has no noise
                assert stats.kstest(ranks.ravel(), "uniform").pvalue > 1e-4, f"{c}.{f}"


def ranks_of(distribution, values, rng):
    """Probabilities of smaller values; within a whole number, anywhere."""
    if isinstance(distribution, Normal) and not distribution.sd:
        np.testing.assert_array_equal(values, distribution.mean * (values != 0))
        return np.zeros(values.shape)
    if isinstance(distribution, Normal):
        return stats.norm.cdf(values, distribution.mean, distribution.sd)
    if isinstance(distribution, Jumping):
        wide = stats.norm.cdf(
            values, distribution.mean, np.hypot(distribution.sd, distribution.jump)
        )
        distance = values - distribution.mean
        # Without noise all that does not jump is in one place: anywhere in its share.
        narrow = (
            stats.norm.cdf(distance, 0, distribution.sd)
            if distribution.sd
            else np.where(np.abs(distance) < 1e-6, rng.random(values.shape), distance > 0)
        )
        return (1 - distribution.chance) * narrow + distribution.chance * wide
    if isinstance(distribution, Counts):
        k = values - distribution.least
        below, above = (stats.poisson.cdf(n, distribution.rate) for n in (k - 1, k))
    else:
        assert isinstance(distribution, Choice | NextCategory)
        total = distribution.probabilities.cumsum(-1)
        above = np.take_along_axis(total, values[..., None], -1)[..., 0]
        below = above - np.exp(distribution.log_prob(values, 0.0))
    return below + rng.random(values.shape) * (above - below)


@of_each_family
def test_the_truth_of_logged_steps_is_finite_in_and_out_of_distribution(family):
    for ood in (False, True):
        world = world_of(family, ood)
        data = oocdm.collect(world, steps=600, seed=1)
        truth = world.truth(data)
        assert all(np.isfinite(nats) for nats in truth.log_likelihood.values())
        assert world.describe() == world_of(family).describe()


@of_each_family
def test_out_of_distribution_starts_are_elsewhere(family):
    usual, far = (
        world_of(family, ood).reset(200, np.random.default_rng(0)) for ood in (False, True)
    )
    moved = [
        np.abs(far.values[c][f]).mean() > 1.3 * np.abs(usual.values[c][f]).mean()
        for c, fields in usual.values.items()
        for f, values in fields.items()
        if values.dtype.kind == "f"
    ]
    assert all(moved) and moved


def test_a_world_may_do_without_decoys():
    assert "decoy" in world_of("jumps").describe()
    plain = GeneratedWorld(family="jumps", world_seed=1, decoys=False)
    assert "decoy" not in plain.describe()


def test_numbers_of_objects_vary_in_two_of_five_worlds():
    varying = [_coin([seed, 7]) for seed in range(500)]
    assert 0.35 < np.mean(varying) < 0.45
    for given in (True, False):
        world = GeneratedWorld(family="jumps", varying=given)
        counts = world.reset(300, np.random.default_rng(0)).present["A"].sum(1)
        assert set(counts) == (set(range(1, world.max_objects["A"] + 1)) if given else {counts[0]})


def test_unknown_families_and_needless_sizes_are_refused():
    with pytest.raises(OocdmError) as error:
        GeneratedWorld(family="neighbors")
    assert str(error.value) == (
        "Option `family`: unknown value 'neighbors'. Did you mean `neighbours`? Known: mixed, "
        "neighbours, forces, following, weak, counts, products, jumps, vectors, large."
    )
    with pytest.raises(OocdmError) as error:
        GeneratedWorld(family="jumps", max_fields=4)
    assert str(error.value) == (
        "Option `max_fields`: expected it only with family 'mixed', got 4 with 'jumps', which "
        "draws its own sizes. Leave it out, or use family 'large'."
    )
