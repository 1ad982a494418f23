"""Summands by hand."""

from __future__ import annotations

import numpy as np

from oocdm.envs.generated.mechanisms import Term
from oocdm.envs.generated.source import Source
from oocdm.envs.generated.terms import ByCategory, Mean, Product, Toward, mean_where, signed

X, K = (Source("A", f, is_local=True) for f in ("x1", "k1"))
OTHERS, W = Source("B", "x1", is_local=False), Source("B", "w1", is_local=False)
INPUTS = {
    X: (np.array([[2.0, 3.0]], np.float32), np.ones((1, 2), bool)),
    K: (np.array([[0, 1]]), np.ones((1, 2), bool)),
    OTHERS: (
        np.array([[[1, 5], [1, 5]]], np.float32),
        np.array([[[True, True], [False, False]]]),
    ),
    W: (np.ones((1, 2, 2, 2), np.float32), np.array([[[True, True], [False, False]]])),
}


def test_means_count_only_those_present():
    assert Mean(0.5, OTHERS).value(INPUTS).tolist() == [[1.5, 0]]
    assert Mean(2.0, W).value(INPUTS).tolist() == [[[2, 2], [0, 0]]]
    assert mean_where(*INPUTS[OTHERS]).dtype == np.float32


def test_amounts_go_by_category():
    assert ByCategory((0.5, -1.0), K).value(INPUTS).tolist() == [[0.5, -1]]
    assert ByCategory((0.5, -1.0), K).sources == (K,)


def test_the_way_to_others_is_nothing_without_any():
    toward = Toward(0.5, OTHERS, X)
    assert toward.value(INPUTS).tolist() == [[0.5, 0]]
    assert toward.sources == (OTHERS, X)


def test_products_are_limited_and_scale_vectors():
    product = Product(0.5, Term(1.0, X), ByCategory((1.0, -1.0), K))
    assert product.value(INPUTS).tolist() == [[1.0, -1.5]]
    assert product.sources == (X, K)
    assert Product(1.0, Term(1.0, X), Mean(1.0, OTHERS)).value(INPUTS).tolist() == [[4, 0]]
    assert Product(1.0, Term(1.0, X), Mean(1.0, W)).value(INPUTS).tolist() == [[[2, 2], [0, 0]]]
    assert str(product) == "+ 0.50 limit(self.x1 * (1.00, -1.00)[self.k1], 4)"


def test_weights_have_signs():
    assert (signed(0.5), signed(-0.25)) == ("+ 0.50", "- 0.25")
