"""Class-level edges by tests of conditional independence, where numbers of objects are fixed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from oocdm.data import Dataset
from oocdm.discovery.independence.merged_samples import MergedSamples, fixed_slots
from oocdm.discovery.independence.tests import IndependenceTest, make_test
from oocdm.errors import OocdmError
from oocdm.graph import ClassEdges, Evidence

# Tests compute p = 1 - (a number near 1), which cannot tell smaller ones from 0.
_SMALLEST_P = float(np.finfo(float).eps)

# Told how many edges are tested, and how many there are to test.
Progress = Callable[[int, int], None]


def discover_by_tests(
    data: Dataset,
    test: str | IndependenceTest = "fcit",
    alpha: float = 0.05,
    max_samples: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evidence:
    """Test each possible edge once: is its target independent of its source, given all else?

    The samples of all objects of the target's class are merged (`MergedSamples`), which needs
    the same number of objects in all transitions. `test` is "fcit", "fisherz", "kci", "rcit" or
    anything with a method `answer`. At most `max_samples` samples are used, by default as many as
    the test can take quickly; they are drawn from all transitions alike and count as independent
    of each other, though those of one episode or transition are not quite: p-values are then too
    small rather than too large.

    Edges with `yes` are those of which an expected share of at most `alpha` is false
    (Benjamini and Hochberg 1995). Edges are `undecided` where the test cannot tell, for example
    because the source never varies. The score is the test's statistic or else -log10 p.
    `progress` is called with the number of edges tested so far and of those to test.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=1), steps=300, seed=0)
    >>> evidence = discover_by_tests(data, "fisherz")
    >>> print(str(evidence.graph).splitlines()[0])
    Block.s1 <- self.s1, self.a
    """
    if not 0 < alpha < 1:
        raise OocdmError(f"discover_by_tests: expected alpha between 0 and 1, got {alpha!r}.")
    chosen = make_test(test) if isinstance(test, str) else test
    limit = chosen.max_samples if max_samples is None else max_samples
    if limit < 1:
        raise OocdmError(f"discover_by_tests: expected max_samples of at least 1, got {limit!r}.")
    edges = ClassEdges.of(data.schema)
    max_counts = {c: len(slots) for c, slots in fixed_slots(data).items()}
    testable = edges.testable(max_counts, data.constants)
    score, p_value = np.full((2, len(edges)), np.nan)
    samples: dict[str, MergedSamples] = {}
    positions = np.flatnonzero(testable)
    for done, position in enumerate(positions, start=1):
        edge = edges.edges[position]
        if edge.target_class not in samples:
            rng = np.random.default_rng(seed)
            samples[edge.target_class] = MergedSamples(data, edge.target_class, limit, rng)
        # Each edge has its own randomness, so its answer does not hang on those before it.
        rng = np.random.default_rng([seed, int(position)])
        answer = chosen.answer(samples[edge.target_class].question(edge), rng)
        p_value[position] = answer.p_value
        score[position] = (
            -np.log10(np.maximum(answer.p_value, _SMALLEST_P))
            if answer.statistic is None
            else answer.statistic
        )
        if progress is not None:
            progress(done, len(positions))
    is_told = ~np.isnan(p_value)  # NaN is a test that could not tell
    is_found = np.zeros(len(edges), dtype=bool)
    if is_told.any():
        is_found[is_told] = scipy.stats.false_discovery_control(p_value[is_told]) <= alpha
    return Evidence.of_test(edges, testable, is_found, is_told, score=score, p_value=p_value)
