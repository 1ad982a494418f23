"""RECOVERY: the one test in which everything learns together. It takes most of a minute.

A shortened schedule on two blocks. Seeds 0 to 2 all recover the graph at two thirds of it; at
its end the weakest true edge is worth about 1 nat and the strongest spurious one 0.01.
"""

from __future__ import annotations

import numpy as np

from oocdm import Schedule, collect, fit, make
from oocdm.graph import EdgeIndex

THRESHOLD = 0.1
SHORT = Schedule(
    iterations=4,
    steps_per_iteration=350,
    polish_steps=0,
    batch_size=256,
    final_learning_rate=5e-4,
    resolution=0.2,
)


def test_the_exact_graph_of_two_blocks() -> None:
    env = make("block", num_blocks=2, variant="released")
    true = env.unwrapped.world.true_graph
    data = collect(env, 10_000, seed=0)
    result = fit(data, seed=0, schedule=SHORT, threshold=THRESHOLD)

    assert str(result.graph) == str(true)
    assert result.graph.compare(true, data.max_counts).accuracy == 1.0

    # Every edge that can be tested was, and none of the decisions was close.
    scores = result.evidence.score
    testable = EdgeIndex.of(data.schema).testable(data.max_counts)
    assert testable.sum() == 84 - 16
    assert np.array_equal(~np.isnan(scores), testable)
    assert scores[true.mask].min() > 3 * THRESHOLD
    assert scores[testable & ~true.mask].max() < 0.7 * THRESHOLD
