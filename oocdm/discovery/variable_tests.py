"""Edges between variables by tests of conditional independence, as GRADER finds them."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from queue import Queue
from threading import Event

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.discovery.gains import Settling
from oocdm.discovery.independence_samples import numbers
from oocdm.discovery.independence_tests import Answer, FastCit
from oocdm.errors import DataError
from oocdm.graph import Evidence, Variable, VariableEdges

logger = logging.getLogger(__name__)

LEAST_SAMPLES = 20  # a tenth of them is held out by each test
TRIALS = 8  # tests a worker of which the time of all is reckoned, at most
MOST_CUTS = 4  # how often the samples may be cut down to fit a time


@dataclass(frozen=True)
class VariableTests:
    """Each edge is tested once: is the output independent of the input, given all other inputs?

    Edges with p < alpha are found. Outputs are looked at side by side in `workers` threads (trees
    are fitted outside of Python's lock), each with random numbers of its own: their number changes
    nothing.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=1), steps=600, seed=0)
    >>> edges = VariableEdges(data.schema, data.max_counts)
    >>> free = edges.full.matrix & np.isin(edges.full.outputs, ["Block[0].s1"])
    >>> found = VariableTests(data, edges, alpha=0.01).discover(free.ravel())
    >>> found.graph.parents("Block[0].s1")
    ['Block[0].s1', 'Block[0].a']
    """

    data: Dataset
    edges: VariableEdges
    alpha: float = 0.1
    max_samples: int = 1000
    seed: int = 0
    workers: int = 1
    test: FastCit = field(default_factory=FastCit)

    def discover(
        self,
        free: np.ndarray,
        weights: np.ndarray | None = None,
        settling: Settling | None = None,
    ) -> Evidence:
        """Test the free edges; larger `weights`, 1 on average, make an edge easier to find."""
        is_asked = self.edges.matrix(free)
        p_value, score = np.full((2, *is_asked.shape), np.nan)
        with closing(self._answers(is_asked)) as answers:
            for done, (source, target, answer) in enumerate(answers, start=1):
                p_value[source, target] = answer.p_value
                score[source, target] = np.nan if answer.statistic is None else answer.statistic
                if settling is not None:
                    settling(done, int(is_asked.sum()))
        p_value, score = p_value.ravel(), score.ravel()
        nothing = np.full(len(self.edges), np.nan)
        told = ~np.isnan(p_value)
        weighted = p_value if weights is None else np.minimum(p_value / weights, 1.0)
        decision = np.where(free, np.where(told, "no", "undecided"), "untestable")
        decision[told & (np.nan_to_num(weighted, nan=1.0) < self.alpha)] = "yes"
        return Evidence(self.edges, score, nothing, nothing, p_value, nothing, decision)

    def _answers(self, is_asked: np.ndarray) -> Generator[tuple[int, int, Answer]]:
        """Source, target and answer of all edges that are asked about, as the workers find them."""
        before, after = self._samples()
        found: Queue[tuple[int, int, Answer] | BaseException] = Queue()
        is_over = Event()

        def ask(target: int) -> None:
            sources = [int(i) for i in np.flatnonzero(is_asked[:, target])]
            rng = np.random.default_rng([self.seed, target])
            try:
                answers = self.test.answer_each(before, after[target], sources, rng)
                for source, answer in zip(sources, answers, strict=True):
                    if is_over.is_set():
                        return
                    found.put((source, target, answer))
            except BaseException as error:
                found.put(error)

        with ThreadPoolExecutor(self.workers) as pool:
            try:
                for target in np.flatnonzero(is_asked.any(0)):
                    pool.submit(ask, int(target))
                for _ in range(int(is_asked.sum())):
                    answer = found.get()
                    if isinstance(answer, BaseException):
                        raise answer
                    yield answer
            finally:
                is_over.set()
                pool.shutdown(cancel_futures=True)

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
        rng = np.random.default_rng(self.seed)
        is_asked = self.edges.matrix(free)
        few = np.zeros_like(is_asked)
        num = min(max(int(free.sum()) // 32, 1), TRIALS)
        for target in rng.permutation(np.flatnonzero(is_asked.any(0)))[: self.workers]:
            few[rng.permutation(np.flatnonzero(is_asked[:, target]))[:num], target] = True
        started = time.perf_counter()
        self.discover(few.ravel())
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
