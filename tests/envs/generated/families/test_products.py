"""The family of products."""

from __future__ import annotations

from oocdm.envs.generated.families.products import Products
from oocdm.envs.generated.mechanisms import CategoryMechanism
from oocdm.envs.generated.terms import Product


def test_factors_are_values_gains_means_and_ways():
    factors, switches = set(), 0
    for seed in range(25):
        blueprint = Products([seed], False, True).blueprint()
        switches += sum(isinstance(m, CategoryMechanism) for m in blueprint.mechanisms)
        products = [
            t
            for m in blueprint.mechanisms
            for t in getattr(m, "terms", ())
            if isinstance(t, Product)
        ]
        assert products
        for product in products:
            factors |= {type(product.left).__name__, type(product.right).__name__}
            assert len(product.sources) >= 2
    assert factors == {"Term", "ByCategory", "Mean", "Toward"}
    assert switches > 5
