"""Large worlds have many classes and kinds."""

from __future__ import annotations

from oocdm.envs.generated.families.large import Large


def test_sizes_and_kinds():
    drawn = [Large([seed], False, True).blueprint() for seed in range(15)]
    assert {len(b.max_objects) for b in drawn} == {3, 4}
    sizes = {len(b.schema.fields(c)) for b in drawn for c in b.schema.classes}
    assert max(sizes) == 5
    mechanisms = [m for b in drawn for m in b.mechanisms]
    kinds = {type(m).__name__ for m in mechanisms}
    assert kinds == {"RealMechanism", "CategoryMechanism", "ChanceMechanism", "CountMechanism"}
    terms = {type(t).__name__ for m in mechanisms for t in getattr(m, "terms", ())}
    assert {"NeighbourMean", "Force", "OfNearest", "Closeness", "Product", "Turned"} <= terms
    assert any(getattr(m, "jump", 0) for m in mechanisms)
