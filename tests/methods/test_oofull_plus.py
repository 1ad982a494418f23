"""OOFULL+: the full graph, and who is who."""

from __future__ import annotations

import oocdm
from oocdm import ClassGraph, Schedule
from tests.methods.differing import SCHEMA, balls


def test_it_predicts_with_the_full_graph_and_tells_objects_apart() -> None:
    quick = Schedule(iterations=1, steps_per_iteration=3, polish_steps=3, batch_size=32)
    result = oocdm.fit(balls(0, episodes=12), "oofull+", seed=0, schedule=quick)
    assert result.graph == ClassGraph.full(SCHEMA)
    assert list(result.model.identities) == ["Ball"]  # type: ignore[arg-type]
    assert result.objects == {"Ball": ["a", "b", "c"]}
