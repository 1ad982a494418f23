"""Edges between variables by tests of conditional independence, as GRADER finds them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.discovery.gains import Settling
from oocdm.discovery.independence_samples import Question, numbers
from oocdm.discovery.independence_tests import FastCit, IndependenceTest
from oocdm.errors import DataError
from oocdm.graph import Evidence, Variable, VariableEdges


def discover_variables_by_tests(
    data: Dataset,
    edges: VariableEdges,
    free: np.ndarray,
    alpha: float = 0.1,
    test: IndependenceTest | None = None,
    max_samples: int = 1000,
    seed: int = 0,
    workers: int = 1,
    settling: Settling | None = None,
) -> Evidence:
    """Test each free edge once: is the output independent of the input, given all other inputs?

    Edges with p < alpha are found. Tests run side by side in `workers` threads (trees are fitted
    outside of Python's lock), each with random numbers of its own: their number changes nothing.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=1), steps=300, seed=0)
    >>> edges = VariableEdges(data.schema, data.max_counts)
    >>> free = edges.full.matrix & np.isin(edges.full.outputs, ["Block[0].s1"])
    >>> found = discover_variables_by_tests(data, edges, free.ravel())
    >>> found.graph.parents("Block[0].s1")
    ['Block[0].s1', 'Block[0].a']
    """
    chosen = FastCit() if test is None else test
    before, after = _samples(data, edges, max_samples, np.random.default_rng(seed))
    num_outputs = len(after)
    positions = np.flatnonzero(free)
    p_value, score = np.full((2, len(edges)), np.nan)

    def ask(position: int) -> None:
        source, target = divmod(position, num_outputs)
        given = np.concatenate([x for i, x in enumerate(before) if i != source], axis=1)
        question = Question(before[source], after[target], given)
        answer = chosen.answer(question, np.random.default_rng([seed, position]))
        p_value[position] = answer.p_value
        score[position] = np.nan if answer.statistic is None else answer.statistic

    with ThreadPoolExecutor(workers) as pool:
        asked = [pool.submit(ask, int(position)) for position in positions]
        try:
            for done, each in enumerate(as_completed(asked), start=1):
                each.result()
                if settling is not None:
                    settling(done, len(positions))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    nothing = np.full(len(edges), np.nan)
    told = ~np.isnan(p_value)
    decision = np.where(free, np.where(told, "no", "undecided"), "untestable")
    decision[told & (np.nan_to_num(p_value, nan=1.0) < alpha)] = "yes"
    return Evidence(edges, score, nothing, nothing, p_value, nothing, decision)


def _samples(
    data: Dataset, edges: VariableEdges, max_samples: int, rng: np.random.Generator
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Inputs before and outputs after some transitions, (sample, number) each."""
    is_known = np.ones(len(data), dtype=bool)
    for name in edges.full.inputs:
        c, i, f = Variable.parse(name)
        is_known &= data.observed[c][f][data.starts, i]
    for name in edges.full.outputs:
        c, i, f = Variable.parse(name)
        is_known &= data.observed[c][f][data.starts + 1, i]
    if not is_known.any():
        raise DataError(
            "Tests of edges between variables: expected transitions in which all values are "
            "known, got none."
        )
    chosen = np.sort(rng.permutation(data.starts[is_known])[:max_samples])

    def columns(names: tuple[str, ...], steps: np.ndarray) -> list[np.ndarray]:
        found = []
        for c, i, f in (Variable.parse(name) for name in names):
            found.append(numbers(data.schema.field(c, f), data.values[c][f][steps, i]))
        return found

    return columns(edges.full.inputs, chosen), columns(edges.full.outputs, chosen + 1)
