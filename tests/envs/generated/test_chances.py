"""Chances by hand."""

from __future__ import annotations

import numpy as np

from oocdm.envs.generated.chances import ChanceMechanism, Influence
from oocdm.envs.generated.source import Source

OWN, NUMBER = Source("A", "k1", is_local=True), Source("A", "x1", is_local=True)
OTHERS = Source("B", "k1", is_local=False)
INPUTS = {
    OWN: (np.array([[2, 0]]), np.ones((1, 2), bool)),
    NUMBER: (np.array([[0.5, -1.0]]), np.ones((1, 2), bool)),
    OTHERS: (np.array([[[1, 1, 2]] * 2]), np.array([[[True, True, True], [True, False, False]]])),
}


def added(influence):
    return influence.value(INPUTS, 3)[0].round(3).tolist()


def test_a_number_makes_a_category_likely():
    assert added(Influence(2.0, NUMBER, code=1)) == [[0, 1, 0], [0, -2, 0]]


def test_a_category_persists_and_shifts():
    assert added(Influence(2.0, OWN)) == [[0, 0, 2], [2, 0, 0]]
    assert added(Influence(2.0, OWN, code=1, when=2)) == [[0, 2, 0], [0, 0, 0]]


def test_others_are_imitated_counted_or_shared():
    assert added(Influence(3.0, OTHERS)) == [[0, 2, 1], [0, 3, 0]]
    assert added(Influence(1.5, OTHERS, code=0, when=1, is_number=True)) == [[3, 0, 0], [1.5, 0, 0]]
    assert added(Influence(1.5, OTHERS, code=0, when=1)) == [[1, 0, 0], [1.5, 0, 0]]


def test_log_odds_are_a_sum():
    mechanism = ChanceMechanism(OWN, (0.0, 1.0, 0.0), (Influence(2.0, OWN), Influence(1.0, OTHERS)))
    logits = np.array([[0, 1 + 2 / 3, 2 + 1 / 3], [2, 2, 0]])
    odds = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    found = mechanism.distribution(INPUTS, (1, 2)).probabilities
    np.testing.assert_allclose(found, odds[None], rtol=1e-6)
    assert mechanism.sources == [OWN, OTHERS]


def test_a_strength_can_be_changed_and_keeps_its_sign():
    mechanism = ChanceMechanism(OWN, (0.0, 0.0), (Influence(-2.0, NUMBER, 1), Influence(1.0, OWN)))
    changed = mechanism.with_strength(NUMBER, 0.5)
    assert str(changed) == (
        "A.k1' ~ log-odds (0.00, 0.00) + -0.50 self.x1 for 1 + 1.00 self.k1 for its like"
    )
