"""How a field of a generated world comes to its next value."""

from __future__ import annotations

import numpy as np
import pytest

from oocdm.envs.generated.mechanisms import CategoryMechanism, Condition, RealMechanism, Term
from oocdm.envs.generated.source import Source, read
from oocdm.worlds.world import WorldState


def test_terms_over_others_leave_out_the_object_itself_and_absent_ones():
    self_, other = (Source("A", "x1", is_local=i) for i in (True, False))
    values = np.array([[-3, -2, 0], [-1, 0, 0]], np.float32)
    present = np.array([[True, True, False], [True, False, False]])
    state = WorldState({"A": {"x1": values}}, {"A": present})
    inputs = {s: read(state, s, "A") for s in (self_, other)}
    largest = Term(1.0, other).value(inputs)
    assert largest[present].tolist() == [-2.0, -3.0, 0.0]  # 0 if there is no other
    above = Condition(other, -2.5)
    counted = Term(2.0, other, above).value(inputs)
    assert counted[present].tolist() == [2.0, 0.0, 0.0]
    gated = Term(1.0, self_, Condition(self_, -2.5)).value(inputs)
    assert gated[present].tolist() == [0.0, -2.0, -1.0]


A, B = Source("A", "x1", is_local=True), Source("B", "k1", is_local=False)
INPUTS = {
    A: (np.array([[1.0, -2.0]], np.float32), np.ones((1, 2), bool)),
    B: (np.array([[[2, 0], [2, 1]]]), np.array([[[True, True], [False, True]]])),
}


def test_a_real_field_is_a_sum():
    gate = Condition(A, 0.0)
    mechanism = RealMechanism(A, 0.5, (Term(3.0, A), Term(10.0, A, gate), Term(-1.0, B)))
    after = mechanism.distribution(INPUTS, (1, 2)).mean
    assert after.tolist() == [[0.5 + 3 + 10 - 2, -1 - 6 - 1]]
    assert mechanism.sources == [A, B] and mechanism.conditions == [gate]
    assert str(mechanism) == (
        "A.x1' = 0.50 self.x1 + 3.00 self.x1 + 10.00 self.x1 [self.x1 > 0.00] - 1.00 max(B[*].k1)"
    )
    assert RealMechanism(A, 0.0, (Term(1.0, B),)).sources == [B]  # it keeps nothing of itself


def test_a_category_moves_on_where_any_other_fulfils_the_condition():
    own = Source("A", "k2", is_local=True)
    inputs = {**INPUTS, own: (np.array([[2, 2]]), np.ones((1, 2), bool))}
    rng = np.random.default_rng(0)
    sure = CategoryMechanism(own, Condition(B, 2), 1.0, 0.0)
    assert sure.distribution(inputs, (1, 2)).sample(rng).tolist() == [
        [0, 2]
    ]  # the other 2 does not count
    assert CategoryMechanism(own, None, 0.0, 0.0).distribution(inputs, (1, 2)).sample(
        rng
    ).tolist() == [[2, 2]]
    assert sure.sources == [own, B]
    assert str(sure) == (
        "A.k2' = self.k2 + 1 (mod 3) with chance 1.00 if any B[*].k1 is 2 else 0.00"
    )


@pytest.mark.parametrize(
    ("limit", "is_fair"), [(0.5, True), (0.1, False), (0.95, False), (2.0, False)]
)
def test_a_fair_condition_holds_now_and_then(limit, is_fair):
    values = np.linspace(0, 1, 101)[None]
    assert Condition(A, limit).is_fair({A: (values, np.ones((1, 101), bool))}) == is_fair


def test_close_calls_are_not_fair():
    values = np.array([[0.0, 0.0, 0.5001, 0.5001, 1.0, 1.0]])
    counts = np.ones((1, 6), bool)
    assert not Condition(A, 0.5).is_fair({A: (values, counts)})
    assert Condition(A, 0.25).is_fair({A: (values, counts)})
    assert Condition(B, 1).is_fair({B: (np.array([[[0, 1, 1]]]), np.ones((1, 1, 3), bool))})
