"""How gains become decisions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from oocdm.discovery import Gains, Rule
from oocdm.discovery.rule import LITTLE
from oocdm.errors import OocdmError


def gains(mean: list[float], error: list[float], groups: int = 30) -> Gains:
    return Gains(np.array(mean), np.array(error), np.full(len(mean), groups))


def test_p_values_are_one_sided_t_tests_against_the_effect() -> None:
    rule = Rule(min_effect=0.04)
    found = rule.p_values(gains([0.1, 0.0, 0.5], [0.02, 0.01, 0.0], groups=10))
    assert found[0] == pytest.approx(stats.t.sf((0.1 - rule.effect) / 0.02, 9))
    assert found[1] == pytest.approx(stats.t.sf(-rule.effect / 0.01, 9))
    assert found[2] == 0.0  # no error at all: certain


def test_the_effect_is_a_share_of_unexplained_variance() -> None:
    """Halving the variance of a normal error adds half a log of two."""
    assert Rule(min_effect=0.5).effect == pytest.approx(0.5 * np.log(2))


def test_decisions() -> None:
    rule = Rule(min_effect=0.04)  # 0.0204 nats
    found = gains([0.3, 0.0, 0.03, 0.02, 0.9], [0.01, 0.001, 0.02, 0.02, 0.01])
    tested = np.array([True, True, True, True, False])
    is_found = rule.is_found(found, tested)
    assert is_found.tolist() == [True, False, False, False, False]
    words = rule.decisions(found, is_found, tested)
    assert words.tolist() == ["yes", "no", "undecided", "undecided", "untestable"]


def test_much_is_asked_of_claims_and_little_of_what_comes_in_for_trial() -> None:
    """While a target is learned so fast that useless edges may add 2 nats."""
    rule = Rule().within(np.array([0.0, 0.02, 2.0]))
    assert rule.in_passing.effect.tolist() == [0.003, 0.02, LITTLE]
    found, tested = gains([0.5, 0.5, 0.5], [0.01] * 3), np.ones(3, dtype=bool)
    assert rule.is_found(found, tested).tolist() == [True, True, False]
    assert rule.in_passing.is_found(found, tested).all()
    words = rule.decisions(found, rule.is_found(found, tested), tested)
    assert words.tolist() == ["yes", "yes", "undecided"]  # it may well be a cause
    small = gains([0.01, 0.01, 0.01], [0.001] * 3)
    assert rule.decisions(small, rule.is_found(small, tested), tested).tolist() == [
        "yes",
        "no",
        "no",
    ]


def test_false_discoveries_are_controlled() -> None:
    """Among 20 true and 200 absent edges right at the effect, on average at most 5 % are wrong."""
    rng, rule, shares, power = np.random.default_rng(0), Rule(0.04), [], []
    truth = np.arange(220) < 20
    for _ in range(200):
        true_gain = np.where(truth, 0.08, rule.effect)
        error = np.full(220, 0.01)
        found = rule.is_found(
            Gains(true_gain + error * rng.standard_t(40, 220), error, np.full(220, 41)),
            truth | True,
        )
        shares.append((found & ~truth).sum() / max(found.sum(), 1))
        power.append(found[truth].mean())
    assert np.mean(shares) < 0.055
    assert np.mean(power) > 0.9


def test_weights_make_believed_edges_easier_to_find() -> None:
    found = gains([0.045, 0.045], [0.012, 0.012])
    both = np.array([True, True])
    rule = Rule(min_effect=0.04, false_discovery_rate=0.02)
    assert rule.is_found(found, both).tolist() == [False, False]
    assert rule.is_found(found, both, np.array([3.0, 0.1])).tolist() == [True, False]


def test_a_threshold_replaces_the_test() -> None:
    rule = Rule(threshold=0.1)
    found = gains([0.11, 0.09, 5.0], [9.0, 0.0, 0.0])
    tested = np.array([True, True, False])
    is_found = rule.is_found(found, tested)
    assert is_found.tolist() == [True, False, False]
    assert rule.decisions(found, is_found, tested).tolist() == ["yes", "no", "untestable"]


@pytest.mark.parametrize("value", [math.nan, "0.1", True])
def test_a_threshold_must_be_a_number(value: Any) -> None:
    with pytest.raises(
        OocdmError, match=r"^Rule: `threshold`: expected a (finite )?number( or None)?, got"
    ):
        Rule(threshold=value)


def test_nothing_tested_is_nothing_found() -> None:
    assert not Rule().is_found(gains([1.0], [0.0]), np.array([False])).any()


@pytest.mark.parametrize("name", ["min_effect", "false_discovery_rate"])
@pytest.mark.parametrize("value", [0.0, 1.0, -0.1])
def test_shares_must_be_shares(name: str, value: float) -> None:
    with pytest.raises(
        OocdmError, match=f"`{name}`: expected a number above 0 and below 1, got {value}"
    ):
        Rule(**{name: value})
