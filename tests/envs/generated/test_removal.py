"""Sources as they are guessed from all else."""

from __future__ import annotations

import numpy as np
import pytest

from oocdm.envs.generated.removal import Regression, remove
from oocdm.envs.generated.source import Source, of_others
from oocdm.schema import Boolean, ObjectClass, Real, Schema
from oocdm.worlds.world import WorldState


class A(ObjectClass):
    x1 = Real()
    x2 = Real()
    b1 = Boolean()


SCHEMA = Schema(A)


def moments(seed, number=3000, varying=False):
    """x2 is x1 and a little; b1 tells the sign of x1 in nine of ten cases."""
    rng = np.random.default_rng(seed)
    x1 = rng.normal(size=(number, 2)).astype(np.float32)
    x2 = (x1 + 0.3 * rng.normal(size=x1.shape)).astype(np.float32)
    b1 = ((x1 > 0) ^ (rng.random(x1.shape) < 0.1)).astype(int)
    present = np.ones(x1.shape, bool)
    present[:, 1] = rng.random(number) < 0.5 if varying else True
    return WorldState({"A": {"x1": x1, "x2": x2, "b1": b1}}, {"A": present})


def removed(source, varying=False, num_waves=0):
    rng = np.random.default_rng(5)
    fit, before = moments(0, varying=varying), moments(1, varying=varying)
    return remove(SCHEMA, fit, before, source, "A", 8, rng, num_waves), before


def test_draws_of_a_number_keep_what_all_else_tells():
    source = Source("A", "x1", is_local=True)
    removal, before = removed(source)
    assert removal.drawn.shape == (8, 3000, 2) and removal.drawn.dtype == np.float32
    apart = removal.drawn - before.values["A"]["x1"]
    assert 0.25 < apart.std() < 0.45  # two residuals of some 0.28 each
    assert np.corrcoef(removal.drawn[0].ravel(), removal.drawn[1].ravel())[0, 1] > 0.9
    np.testing.assert_allclose(removal.drawn.std(), 1, atol=0.05)


def test_draws_of_a_boolean_follow_the_odds():
    removal, before = removed(Source("A", "b1", is_local=True), num_waves=32)
    assert set(np.unique(removal.drawn)) == {0, 1}
    same = (removal.drawn == before.values["A"]["b1"]).mean()
    assert 0.7 < same < 0.85


@pytest.mark.parametrize("varying", [False, True])
def test_draws_of_others_know_the_others_other_fields(varying):
    source = of_others(Source("A", "x1", is_local=True))
    removal, before = removed(source, varying)
    assert removal.drawn.shape == (8, 3000, 2, 2)
    there = before.present["A"].all(1)
    apart = removal.drawn[:, there, 0, 1] - before.values["A"]["x1"][there, 1]
    assert 0.25 < apart.std() < 0.45


def test_an_object_knows_its_own_fields_but_not_a_removed_one():
    local, _ = removed(Source("A", "x1", is_local=True))
    assert local.features[1].shape == (3000, 2, 2 + 3 + 3 + 1)  # own, means, squares, number
    other, _ = removed(Source("A", "x1", is_local=False))
    assert other.features[1].shape == (3000, 2, 3 + 2 + 2 + 1)


def test_random_functions_learn_what_squares_cannot():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(4000, 1))
    y = np.abs(x - 0.5) ** 0.5
    errors = [
        np.std(y - Regression(x, y, waves, np.random.default_rng(0)).predict(x))
        for waves in (0, 64)
    ]
    assert errors[1] < 0.7 * errors[0]
