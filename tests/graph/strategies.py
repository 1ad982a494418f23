"""Random schemas and class graphs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from oocdm.graph import ClassEdges, ClassGraph
from oocdm.schema import ObjectClass, Real, Schema


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """One to three classes of one to three fields in any roles; the first has a target."""
    roles = st.sampled_from([{}, {}, {"action": True}, {"static": True}])
    classes = []
    for name in "ABC"[: draw(st.integers(1, 3))]:
        fields = {f: Real(**draw(roles)) for f in "uvw"[: draw(st.integers(1, 3))]}
        if name == "A":
            fields["u"] = Real()
        classes.append(type(name, (ObjectClass,), fields))
    return Schema(*classes)


@st.composite
def graphs(draw: st.DrawFn, schema: Schema | None = None) -> ClassGraph:
    schema = schema or draw(schemas())
    mask = draw(st.lists(st.booleans(), min_size=len(ClassEdges.of(schema)), max_size=99))
    return ClassGraph(schema, np.array(mask[: len(ClassEdges.of(schema))]))


COUNTS = st.fixed_dictionaries({c: st.integers(0, 3) for c in "ABC"})
