"""RECOVERY: the one test in which everything learns together. It takes most of a minute.

A shortened schedule on two blocks, with the decisions that everybody gets by default.
"""

from __future__ import annotations

import numpy as np

from oocdm import Schedule, collect, fit, make
from oocdm.graph import ClassEdges

SHORT = Schedule(iterations=6, steps_per_iteration=250, polish_steps=0, batch_size=256)


def test_the_exact_graph_of_two_blocks() -> None:
    env = make("block", num_blocks=2, variant="released")
    true = env.unwrapped.world.true_graph
    data = collect(env, 10_000, seed=0)
    result = fit(data, seed=0, schedule=SHORT)

    assert str(result.graph) == str(true)
    assert result.graph.compare(true, data.max_counts).accuracy == 1.0

    # Every edge that can be tested was, and none of the decisions was close.
    scores = result.evidence.score
    testable = ClassEdges.of(data.schema).testable(data.max_counts)
    assert testable.sum() == 84 - 16
    assert np.array_equal(~np.isnan(scores), testable)
    assert scores[true.mask].min() > 0.3
    assert scores[testable & ~true.mask].max() < 0.03
    # The record says so.
    evidence = result.evidence
    assert set(evidence.decision[true.mask]) == {"yes"}
    assert set(evidence.decision[testable & ~true.mask]) == {"no"}
    assert set(evidence.decision[~testable]) == {"untestable"}
    assert evidence.p_value[true.mask].max() < 1e-3
    assert (evidence.low <= scores)[testable].all() and (scores <= evidence.high)[testable].all()
