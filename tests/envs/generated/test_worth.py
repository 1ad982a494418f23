"""Worths of edges, against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oocdm.envs.generated.blueprint import Blueprint
from oocdm.envs.generated.chances import ChanceMechanism, Influence
from oocdm.envs.generated.families.counts import CountMechanism
from oocdm.envs.generated.mechanisms import RealMechanism, Term
from oocdm.envs.generated.pilot import run_pilot
from oocdm.envs.generated.source import Source
from oocdm.envs.generated.terms import Mean
from oocdm.envs.generated.worth import QUICK, Effort, Worth, edge_worth
from oocdm.schema import Boolean, Integer, ObjectClass, Real, Schema


class A(ObjectClass):
    x1 = Real()
    x2 = Real()  # drifts
    x3 = Real()  # follows x2
    b1 = Boolean()
    n1 = Integer()
    a1 = Real(-1.0, 1.0, action=True)
    a2 = Boolean(action=True)


X1, X2, X3, B1, N1, A1, A2 = (
    Source("A", f, is_local=True) for f in ("x1", "x2", "x3", "b1", "n1", "a1", "a2")
)
OTHERS = A1._replace(is_local=False)
DRIFT = RealMechanism(X2, 0.8, noise=0.6)
REST = (
    RealMechanism(X3, 0.0, (Term(1.0, X2),), noise=0.1),
    ChanceMechanism(B1, (0.0, 0.0)),
    CountMechanism(N1, 0.0, 0, 1.0),
)
EFFORT = Effort(num_draws=32, num_waves=16, max_values=400_000, max_moments=3_000)


def worth(mechanism, source, blur=0.0, number=2, effort=EFFORT):
    others = [m for m in (DRIFT, *REST) if m.own != mechanism.own]
    first = [] if mechanism.own == X1 else [RealMechanism(X1, 0.5, noise=0.5)]
    blueprint = Blueprint(Schema(A), {"A": number}, False, [*first, mechanism, *others])
    pilot = run_pilot(blueprint, 200, 30, [0])
    rng = np.random.default_rng(0)
    return edge_worth(blueprint, mechanism, source, pilot, blur, rng, effort)


@pytest.mark.parametrize("weight", [0.1, 0.3, 1.0])
def test_a_linear_cause_that_is_independent(weight):
    """A normal one would be worth 0.5 log(1 + signal / noise); a uniform one nearly so."""
    mechanism = RealMechanism(X1, 0.5, (Term(weight, A1),), noise=0.5)
    expected = 0.5 * np.log(1 + weight**2 / 3 / 0.25)
    found = worth(mechanism, A1)
    assert found.nats == pytest.approx(expected, rel=0.12, abs=0.002)
    assert 0 < found.error < 0.01


def test_jitter_counts_as_noise():
    mechanism = RealMechanism(X1, 0.5, (Term(0.1, A1),))
    narrow, wide = (worth(mechanism, A1, blur).nats for blur in (0.01, 0.1))
    assert wide == pytest.approx(0.5 * np.log(1 + 1 / 3), rel=0.12)
    # Without noise, what is left is uniform: its entropy less that of the jitter.
    assert narrow == pytest.approx(np.log(0.2) - 0.5 * np.log(2 * np.pi * np.e * 1e-4), rel=0.15)


def test_a_switch_without_noise_is_worth_its_entropy():
    """Draws that all miss the true value do not make it impossible."""
    mechanism = RealMechanism(X1, 0.5, (Term(3.0, A2),))
    assert worth(mechanism, A2, blur=0.01).nats == pytest.approx(np.log(2), rel=0.1)


def test_a_mean_of_others():
    mechanism = RealMechanism(X1, 0.5, (Mean(1.0, OTHERS),), noise=0.3)
    expected = 0.5 * np.log(1 + 1 / 9 / 0.09)  # three others, variance 1/3 each
    assert worth(mechanism, OTHERS, number=4).nats == pytest.approx(expected, rel=0.12)


def test_what_another_field_tells_is_worth_less():
    """x3 is x2 of one step before: of x2 only the noise of the last step is unknown."""
    mechanism = RealMechanism(X1, 0.0, (Term(1.0, X2),), noise=0.5)
    expected = 0.5 * np.log(1 + 0.36 / 0.25)
    found = worth(mechanism, X2).nats
    assert found == pytest.approx(expected, rel=0.15)
    alone = 0.5 * np.log(1 + 1.0 / 0.25)  # the variance of x2 is 0.36 / (1 - 0.64)
    assert found < 0.7 * alone


@pytest.mark.parametrize("strength", [0.3, 1.5])
def test_a_boolean_with_an_independent_parent_is_worth_the_mutual_information(strength):
    mechanism = ChanceMechanism(B1, (0.0, -0.5), (Influence(strength, A2, code=1, when=1),))
    p = 1 / (1 + np.exp(0.5 - strength * np.array([0.0, 1.0])))

    def entropy(q):
        return -q * np.log(q) - (1 - q) * np.log(1 - q)

    expected = entropy(p.mean()) - entropy(p).mean()
    assert worth(mechanism, A2).nats == pytest.approx(expected, rel=0.1)


def test_a_count_with_an_independent_parent_is_worth_the_mutual_information():
    mechanism = CountMechanism(N1, 0.0, 0, 1.0, (Term(1.0, A2),))
    k = np.arange(60)
    rates = np.exp([1.0, 2.0])
    log_factorial = np.cumsum(np.log(np.maximum(k, 1)))
    p = np.exp(k * np.log(rates)[:, None] - rates[:, None] - log_factorial)
    mixed = p.mean(0)
    expected = float((p * np.log(p / mixed)).sum(1).mean())
    assert worth(mechanism, A2, blur=0.02).nats == pytest.approx(expected, rel=0.1)


def test_jumps_leave_a_cause_its_worth():
    plain = RealMechanism(X1, 0.5, (Term(0.5, A1),), noise=0.3)
    jumping = replace(plain, jump=5.0, jump_chance=0.01)
    assert worth(jumping, A1).nats == pytest.approx(worth(plain, A1).nats, rel=0.1)


def test_a_quick_estimate_is_close():
    mechanism = RealMechanism(X1, 0.5, (Term(0.3, A1),), noise=0.5)
    assert worth(mechanism, A1, effort=QUICK).nats == pytest.approx(0.0566, abs=0.03)


def test_a_worth_prints_its_error():
    assert str(Worth(0.0123, 0.0004)) == "0.0123 +- 0.0004 nats"
