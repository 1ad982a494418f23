"""Vectors by hand."""

from __future__ import annotations

import numpy as np

from oocdm.envs.generated.families.vectors import Dot, Turned, Vectors
from oocdm.envs.generated.source import Source

W, U = Source("A", "w1", is_local=True), Source("B", "w2", is_local=False)
INPUTS = {
    W: (np.array([[[1.0, 2.0, 3.0]]], np.float32), np.ones((1, 1), bool)),
    U: (np.array([[[[1.0, 0, 0], [0, 0, 1]]]], np.float32), np.array([[[True, False]]])),
}


def test_a_vector_turns_in_a_plane():
    turned = Turned(0.5, W, 90.0, (0, 2)).value(INPUTS)
    np.testing.assert_allclose(turned, [[[-1.5, 1.0, 0.5]]], atol=1e-6)
    mean = Turned(1.0, U, 180.0, (0, 1)).value(INPUTS)
    np.testing.assert_allclose(mean, [[[-1, 0, 0]]], atol=1e-6)
    assert str(Turned(1.0, U, 180.0, (0, 1))) == "+ 1.00 turn(mean(B[*].w2) by 180 in 0-1)"


def test_scalar_products_are_limited():
    assert Dot(0.5, W, U).value(INPUTS).tolist() == [[0.5]]
    assert Dot(0.5, W, W).value(INPUTS).tolist() == [[2]]  # 14 is more than 4
    assert Dot(0.5, W, U).sources == (W, U)


def test_vectors_have_two_or_three_components_and_all_kinds_of_terms():
    shapes, terms = set(), set()
    for seed in range(25):
        blueprint = Vectors([seed], False, True).blueprint()
        for m in blueprint.mechanisms:
            shapes.add(blueprint.schema.field(*m.own[:2]).shape)
            terms |= {type(t).__name__ for t in getattr(m, "terms", ())}
    assert shapes == {(), (2,), (3,)}
    assert {"Turned", "Dot", "Product", "Toward", "Mean", "Term"} <= terms
