"""The truth of a dataset, and how a model is compared with it."""

from __future__ import annotations

import numpy as np
import pytest

import oocdm
from oocdm.envs.generated import GeneratedWorld
from oocdm.envs.generated.distribution import log_normal, log_rounded
from oocdm.errors import OocdmError


@pytest.fixture(scope="module")
def world():
    return GeneratedWorld(world_seed=4)


@pytest.fixture(scope="module")
def data(world):
    return oocdm.collect(world, steps=3000, seed=0)


def test_fields_without_noise_have_the_likelihood_of_the_jitter(world, data):
    found = world.truth(data).log_likelihood["A.x2"]  # x2 is the field without noise
    blur = float(world.blur["A", "x2"])
    assert found == pytest.approx(-0.5 * np.log(2 * np.pi * np.e * blur**2), abs=0.03)
    noisy = world.mechanisms[0].noise
    variance = noisy**2 + float(world.blur["A", "x1"]) ** 2
    expected = -0.5 * np.log(2 * np.pi * np.e * variance)
    assert world.truth(data).log_likelihood["A.x1"] == pytest.approx(expected, abs=0.03)


def test_a_model_is_scored_on_the_same_targets(world, data):
    """A model that knows all but predicts a noise twice too large is so many nats below."""
    truth = world.truth(data)
    state = {c: {f: data.values[c][f][data.starts] for f in ("x1", "x2")[: 3 - i]}
             for i, c in enumerate("AB", start=1)}  # fmt: skip
    present = {c: p[data.starts] for c, p in data.present.items()}
    actions = {c: {"a": data.values[c]["a"][data.starts]} for c in "AB"}
    mean = world.distribution(oocdm.WorldState(state, present), actions)["B"]["x1"].mean
    noise = world.mechanisms[2].noise
    below = [
        truth.nats_below("B.x1", truth.score_normal("B.x1", mean, sd)) for sd in (noise, 2 * noise)
    ]
    assert below == pytest.approx([0, np.log(2) - 0.5 * (1 - 1 / 4)], abs=0.03)


def test_normals_of_whole_numbers_are_rounded():
    world = GeneratedWorld(family="counts", world_seed=1)
    data = oocdm.collect(world, steps=600, seed=0)
    truth = world.truth(data)
    counts = [key for key in truth.blur if not world.schema.field(*key).is_real]
    assert counts
    for c, f in counts:
        after = data.values[c][f][data.starts + 1]
        known = truth.known[c][f]
        mean, sd = after[known].mean(), after[known].std()
        below = truth.nats_below((c, f), truth.score_normal((c, f), mean, sd))
        chances = log_rounded(after[known], mean, sd)
        jitter = truth.targets[c][f][known] - after[known]
        scores = chances + log_normal(jitter, np.zeros(()), truth.blur[c, f])
        assert below == pytest.approx(truth.scores[c][f][known].mean() - scores.mean())
        plain = log_normal(truth.targets[c][f], mean, np.hypot(sd, truth.blur[c, f]))
        assert 0 < below < truth.nats_below((c, f), plain) - 1


def test_the_seed_decides_the_jitter(world, data):
    one, same, other = (world.truth(data, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.targets["A"]["x2"], same.targets["A"]["x2"])
    assert (one.targets["A"]["x2"] != other.targets["A"]["x2"]).all()
    apart = one.targets["A"]["x2"] - data.values["A"]["x2"][data.starts + 1]
    assert apart.std() == pytest.approx(float(one.blur["A", "x2"]), rel=0.05)


def test_out_of_distribution_the_blur_is_the_same(world):
    far = GeneratedWorld(world_seed=4, ood=True)
    assert far.blur == world.blur
    found = far.truth(oocdm.collect(far, steps=600, seed=0)).log_likelihood
    near = world.truth(oocdm.collect(world, steps=3000, seed=0)).log_likelihood
    assert found["A.x2"] == pytest.approx(near["A.x2"], abs=0.05)


def test_data_of_another_world_is_refused(world):
    other = oocdm.collect(GeneratedWorld(world_seed=0), steps=30, seed=0)
    with pytest.raises(OocdmError) as error:
        world.truth(other)
    assert str(error.value).startswith(
        "GeneratedWorld.truth: expected steps of this very world, got data whose schema differs in"
    )


def test_categories_and_absent_objects():
    world = GeneratedWorld(world_seed=1, varying=True)
    data = oocdm.collect(world, steps=600, seed=0)
    truth = world.truth(data)
    categories = [
        (c, f)
        for c in world.schema.classes
        for f in world.schema.targets(c)
        if not world.schema.field(c, f).is_real
    ]
    assert categories
    for c, f in categories:
        np.testing.assert_array_equal(truth.targets[c][f], data.values[c][f][data.starts + 1])
        assert truth.log_likelihood[f"{c}.{f}"] <= 0 and (c, f) not in truth.blur
    for c in world.schema.classes:
        present = data.present[c][data.starts]
        for f in world.schema.targets(c):
            np.testing.assert_array_equal(truth.known[c][f], present)
            assert np.isfinite(truth.scores[c][f][present]).all()
