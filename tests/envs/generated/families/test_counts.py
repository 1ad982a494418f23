"""Counts by hand."""

from __future__ import annotations

import numpy as np

from oocdm.envs.generated.families.counts import CountMechanism, Queues
from oocdm.envs.generated.mechanisms import Term
from oocdm.envs.generated.source import Source

OWN, X = Source("A", "n1", is_local=True), Source("A", "x1", is_local=True)
INPUTS = {
    OWN: (np.array([[0, 5, 10]]), np.ones((1, 3), bool)),
    X: (np.array([[0.0, 1.0, 50.0]]), np.ones((1, 3), bool)),
}


def test_part_stays_some_are_served_and_new_ones_come():
    mechanism = CountMechanism(OWN, 0.5, 1, 0.5, (Term(0.5, X),))
    found = mechanism.distribution(INPUTS, (1, 3))
    assert found.least.tolist() == [[0, 1, 4]]
    np.testing.assert_allclose(found.rate, np.exp([[0.5, 1.0, 2.7]]))  # rates are limited
    assert mechanism.sources == [OWN, X]
    assert str(mechanism) == (
        "A.n1' = max(floor(0.50 self.n1) - 1, 0) + Poisson(exp(0.50 + 0.50 self.x1))"
    )


def test_nothing_may_stay():
    mechanism = CountMechanism(OWN, 0.0, 0, 0.5)
    assert mechanism.distribution(INPUTS, (1, 3)).least.tolist() == [[0, 0, 0]]
    assert mechanism.sources == [] and str(mechanism) == "A.n1' = Poisson(exp(0.50))"


def test_worlds_have_counts_with_and_without_memory():
    counts = [
        m
        for seed in range(15)
        for m in Queues([seed], False, True).blueprint().mechanisms
        if isinstance(m, CountMechanism)
    ]
    assert {bool(m.stay) for m in counts} == {True, False}
    assert {m.served for m in counts} == {0, 1, 2}
