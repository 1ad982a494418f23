"""Starts, in distribution and out of it."""

from __future__ import annotations

import numpy as np
import pytest

from oocdm.envs.generated.start import Start
from oocdm.schema import Boolean, Categorical, Integer, Real


def draw(start, field, ood):
    return start.draw(field, (4000, 2), np.random.default_rng(0), ood)


@pytest.mark.parametrize("low", [-2.0, 0.5])
def test_numbers_start_beyond_the_usual_ends_out_of_distribution(low):
    usual, far = (draw(Start(low, 2.0), Real(), ood) for ood in (False, True))
    assert low <= usual.min() < low + 0.01 and 1.99 < usual.max() <= 2
    assert not ((far > low) & (far < 2)).any()
    assert far.min() == pytest.approx(-4 if low < 0 else 2, abs=0.01)
    assert far.max() == pytest.approx(4 if low < 0 else 3.5, abs=0.01)
    assert usual.dtype == far.dtype == np.float32


def test_counts_start_above_the_usual_ones_out_of_distribution():
    usual, far = (draw(Start(0, 6), Integer(), ood) for ood in (False, True))
    assert set(usual.ravel()) == set(range(7)) and set(far.ravel()) == set(range(7, 14))


def test_categories_start_with_other_odds_out_of_distribution():
    def shares(start, field, ood):
        return np.bincount(draw(start, field, ood).ravel()) / 8000

    odds = Start(odds=(0.8, 0.2))
    np.testing.assert_allclose(shares(odds, Boolean(), False), [0.8, 0.2], atol=0.02)
    np.testing.assert_allclose(shares(odds, Boolean(), True), [0.2, 0.8], atol=0.02)
    np.testing.assert_allclose(shares(Start(), Categorical(3), False), [1 / 3] * 3, atol=0.02)
    np.testing.assert_allclose(
        shares(Start(), Categorical(3), True), [1 / 2, 1 / 3, 1 / 6], atol=0.02
    )


def test_vectors_have_their_axis():
    assert draw(Start(), Real(shape=(3,)), ood=False).shape == (4000, 2, 3)
