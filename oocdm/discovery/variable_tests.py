"""Edges between variables by tests of conditional independence, as GRADER finds them."""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.discovery.gains import Settling
from oocdm.discovery.independence_samples import Question, numbers
from oocdm.discovery.independence_tests import FastCit, IndependenceTest
from oocdm.errors import DataError
from oocdm.graph import Evidence, Variable, VariableEdges

logger = logging.getLogger(__name__)

LEAST_SAMPLES = 20  # a tenth of them is held out by each test
TRIALS = 8  # tests of which the time of all is reckoned, at most
MOST_CUTS = 4  # how often the samples may be cut down to fit a time


@dataclass(frozen=True)
class VariableTests:
    """Each edge is tested once: is the output independent of the input, given all other inputs?

    Edges with p < alpha are found. Tests run side by side in `workers` threads (trees are fitted
    outside of Python's lock), each with random numbers of its own: their number changes nothing.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=1), steps=300, seed=0)
    >>> edges = VariableEdges(data.schema, data.max_counts)
    >>> free = edges.full.matrix & np.isin(edges.full.outputs, ["Block[0].s1"])
    >>> found = VariableTests(data, edges).discover(free.ravel())
    >>> found.graph.parents("Block[0].s1")
    ['Block[0].s1', 'Block[0].a']
    """

    data: Dataset
    edges: VariableEdges
    alpha: float = 0.1
    max_samples: int = 1000
    seed: int = 0
    workers: int = 1
    test: IndependenceTest = field(default_factory=FastCit)

    def discover(
        self,
        free: np.ndarray,
        weights: np.ndarray | None = None,
        settling: Settling | None = None,
    ) -> Evidence:
        """Test the free edges; larger `weights`, 1 on average, make an edge easier to find."""
        before, after = self._samples()
        num_outputs = len(after)
        positions = np.flatnonzero(free)
        p_value, score = np.full((2, len(self.edges)), np.nan)

        def ask(position: int) -> None:
            source, target = divmod(position, num_outputs)
            rest = [x for i, x in enumerate(before) if i != source]
            # A world of one variable leaves nothing to condition on.
            given = np.concatenate([np.empty((len(before[source]), 0)), *rest], axis=1)
            question = Question(before[source], after[target], given)
            answer = self.test.answer(question, np.random.default_rng([self.seed, position]))
            p_value[position] = answer.p_value
            score[position] = np.nan if answer.statistic is None else answer.statistic

        with ThreadPoolExecutor(self.workers) as pool:
            asked = [pool.submit(ask, int(position)) for position in positions]
            try:
                for done, each in enumerate(as_completed(asked), start=1):
                    each.result()
                    if settling is not None:
                        settling(done, len(positions))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        nothing = np.full(len(self.edges), np.nan)
        told = ~np.isnan(p_value)
        weighted = p_value if weights is None else np.minimum(p_value / weights, 1.0)
        decision = np.where(free, np.where(told, "no", "undecided"), "untestable")
        decision[told & (np.nan_to_num(weighted, nan=1.0) < self.alpha)] = "yes"
        return Evidence(self.edges, score, nothing, nothing, p_value, nothing, decision)

    def within(self, max_seconds: float, free: np.ndarray) -> VariableTests:
        """The same tests on fewer samples, if all of them would take longer than that.

        The time of all tests is reckoned from that of a few.
        """
        tests, ends = self, time.perf_counter() + max_seconds
        num_tests = int(free.sum())
        for _ in range(MOST_CUTS):
            needed = tests._seconds_a_test(free) * num_tests
            left = ends - time.perf_counter()
            if needed <= left or tests.max_samples == LEAST_SAMPLES:
                break
            # A little less than what fits: the time does not shrink as fast as the samples.
            fewer = int(0.9 * tests.max_samples * max(left, 0.0) / needed)
            tests = replace(tests, max_samples=max(fewer, LEAST_SAMPLES))
        if tests is not self:
            logger.warning(
                "%d tests of edges on %d transitions would take longer than the %.0f s that they "
                "have: they see %d. Allow more time for better ones.",
                *(num_tests, self.max_samples, max_seconds, tests.max_samples),
            )
        return tests

    def _seconds_a_test(self, free: np.ndarray) -> float:
        """How long one test takes, with all workers busy."""
        tried = np.random.default_rng(self.seed).permutation(np.flatnonzero(free))
        few = np.zeros_like(free)
        few[tried[: max(min(len(tried) // 32, TRIALS), self.workers)]] = True
        started = time.perf_counter()
        self.discover(few)
        return (time.perf_counter() - started) / int(few.sum())

    def _samples(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Inputs before and outputs after some transitions, (sample, number) each."""
        data, full = self.data, self.edges.full
        is_known = np.ones(len(data), dtype=bool)
        for name in full.inputs:
            c, i, f = Variable.parse(name)
            is_known &= data.observed[c][f][data.starts, i]
        for name in full.outputs:
            c, i, f = Variable.parse(name)
            is_known &= data.observed[c][f][data.starts + 1, i]
        if int(is_known.sum()) < LEAST_SAMPLES:
            raise DataError(
                f"Tests of edges between variables: expected at least {LEAST_SAMPLES} transitions "
                f"in which all values are known, got {int(is_known.sum())} of {len(data)}. Log "
                "more, or use a method that needs no tests."
            )
        rng = np.random.default_rng(self.seed)
        chosen = np.sort(rng.permutation(data.starts[is_known])[: self.max_samples])

        def columns(names: tuple[str, ...], steps: np.ndarray) -> list[np.ndarray]:
            found = []
            for c, i, f in (Variable.parse(name) for name in names):
                found.append(numbers(data.schema.field(c, f), data.values[c][f][steps, i]))
            return found

        return columns(full.inputs, chosen), columns(full.outputs, chosen + 1)
