"""True distributions: densities, draws, and that nothing else scores better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from oocdm.envs.generated.distribution import (
    Choice,
    Counts,
    Jumping,
    NextCategory,
    Normal,
    log_chosen,
    log_normal,
    log_rounded,
    log_whole,
)

ONE = np.ones(1)
NUMBERS = [
    (Normal(0.5 * ONE, 0.3), 0.05),
    (Normal(0.5 * ONE, 0.0), 0.05),  # no noise but that of the jitter
    (Jumping(0.5 * ONE, 0.1, 0.02, 3.0), 0.02),
    (Jumping(0.5 * ONE, 0.0, 0.3, 2.0), 0.1),
    (Counts(np.array([2]), np.array([1.3])), 0.03),
    (Counts(np.array([0]), np.array([7.0])), 0.4),  # jitter that reaches further counts
]


def grid(distribution, blur):
    """Points so dense that no peak is missed, far into both tails."""
    centre = distribution.mean[0] if not isinstance(distribution, Counts) else 8.0
    return np.linspace(centre - 25, centre + 40, 400_001)


def density(distribution, blur, points):
    wide = {
        name: np.broadcast_to(value, points.shape)
        for name, value in vars(distribution).items()
        if isinstance(value, np.ndarray)
    }
    return np.exp(replace(distribution, **wide).log_prob(points, blur))


@pytest.mark.parametrize(("distribution", "blur"), NUMBERS)
def test_a_density_integrates_to_one(distribution, blur):
    points = grid(distribution, blur)
    total = integrate.trapezoid(density(distribution, blur, points), points)
    assert total == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(("distribution", "blur"), NUMBERS)
def test_jittered_draws_have_that_density(distribution, blur):
    rng, number = np.random.default_rng(0), 20_000
    wide = {
        name: np.broadcast_to(value, (number,))
        for name, value in vars(distribution).items()
        if isinstance(value, np.ndarray)
    }
    drawn = replace(distribution, **wide).sample(rng) + blur * rng.standard_normal(number)
    points = grid(distribution, blur)
    p = density(distribution, blur, points)
    below = integrate.cumulative_trapezoid(p, points, initial=0)
    assert stats.kstest(np.interp(drawn, points, below), "uniform").pvalue > 0.01
    mean = integrate.trapezoid(p * points, points)
    variance = integrate.trapezoid(p * (points - mean) ** 2, points)
    assert drawn.mean() == pytest.approx(mean, abs=4 * np.sqrt(variance / number))
    assert drawn.var() == pytest.approx(variance, rel=0.15)


@pytest.mark.parametrize(
    ("truth", "wrong"),
    [
        (Normal(np.zeros(20_000), 0.3), Normal(np.full(20_000, 0.05), 0.3)),
        (Normal(np.zeros(20_000), 0.3), Normal(np.zeros(20_000), 0.33)),
        (
            Jumping(np.zeros(20_000), 0.1, 0.02, 3.0),
            Jumping(np.zeros(20_000), 0.1, 0.04, 3.0),
        ),
        (Jumping(np.zeros(20_000), 0.1, 0.02, 3.0), Normal(np.zeros(20_000), 0.1)),
        (
            Counts(np.zeros(20_000, int), np.full(20_000, 3.0)),
            Counts(np.zeros(20_000, int), np.full(20_000, 3.2)),
        ),
        (Choice(np.full((20_000, 2), 0.5)), Choice(np.tile([0.45, 0.55], (20_000, 1)))),
    ],
)
def test_no_wrong_parameters_beat_the_truth(truth, wrong):
    rng, blur = np.random.default_rng(1), 0.02
    values = truth.sample(rng)
    if not isinstance(truth, Choice):
        values = values + blur * rng.standard_normal(values.shape)
    assert truth.log_prob(values, blur).mean() > wrong.log_prob(values, blur).mean()


def test_choices_are_drawn_with_their_probabilities():
    choice = Choice(np.tile([0.2, 0.5, 0.3], (50_000, 1)))
    drawn = choice.sample(np.random.default_rng(0))
    shares = np.bincount(drawn) / len(drawn)
    np.testing.assert_allclose(shares, [0.2, 0.5, 0.3], atol=0.01)
    assert choice.log_prob(np.array([1] * 50_000), 0.0)[0] == np.log(0.5)


def test_the_next_category_is_drawn_with_its_chance():
    now = np.tile([0, 2], (30_000, 1))
    step = NextCategory(now, np.full(now.shape, 0.3), 3)
    drawn = step.sample(np.random.default_rng(0))
    assert set(drawn[:, 0]) == {0, 1} and set(drawn[:, 1]) == {2, 0}
    assert (drawn != now).mean() == pytest.approx(0.3, abs=0.01)
    np.testing.assert_allclose(step.probabilities[0], [[0.7, 0.3, 0], [0.3, 0, 0.7]])
    scores = step.log_prob(drawn, 0.0)
    np.testing.assert_allclose(scores, np.where(drawn != now, np.log(0.3), np.log(0.7)))


def test_a_draw_takes_as_many_random_numbers_whatever_the_parameters():
    for one, other in (
        (Jumping(ONE, 0.1, 0.01, 1.0), Jumping(3 * ONE, 0.1, 0.9, 1.0)),
        (Counts(np.array([0]), ONE), Counts(np.array([0]), 40 * ONE)),
    ):
        generators = [np.random.default_rng(0), np.random.default_rng(0)]
        one.sample(generators[0])
        other.sample(generators[1])
        assert generators[0].bit_generator.state == generators[1].bit_generator.state


def test_normals_and_chosen_probabilities():
    assert log_normal(np.array(1.0), np.array(0.5), np.array(0.2)) == pytest.approx(
        stats.norm.logpdf(1.0, 0.5, 0.2)
    )
    assert log_chosen(np.array([[0.0, 1.0]]), np.array([0]))[0] == -np.inf


def test_normals_are_rounded_also_far_from_their_means():
    whole = np.array([-3.0, 0.0, 2.0, 40.0])
    mean, sd = np.full(4, 0.3), np.full(4, 1.5)
    found = log_rounded(whole, mean, sd)
    expected = np.diff(stats.norm.cdf([whole - 0.5, whole + 0.5], 0.3, 1.5), axis=0)[0]
    np.testing.assert_allclose(found[:3], np.log(expected[:3]), rtol=1e-9)
    tail = stats.norm.logsf(39.5, 0.3, 1.5)  # what is above 40.5 does not count
    assert found[3] == pytest.approx(tail, abs=1e-3)


def test_jitter_is_shared_among_whole_numbers_that_are_close():
    values = np.array([0.5])
    score = log_whole(values, 0.3, lambda whole: np.where((whole == 0) | (whole == 1), -1.0, -50.0))
    assert score[0] == pytest.approx(np.log(2) - 1 + stats.norm.logpdf(0.5, 0, 0.3))
