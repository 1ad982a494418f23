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
from oocdm.discovery.gains import OnSettled
from oocdm.discovery.independence.merged_samples import numbers
from oocdm.discovery.independence.tests import Answer, FastCit
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
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=1), steps=1500, seed=0)
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
        on_settled: OnSettled | None = None,
    ) -> Evidence:
        """Test the free edges; larger `weights`, 1 on average, make an edge easier to find."""
        is_asked = self.edges.matrix(free)
        steps = self._steps(is_asked)
        self._warn_of_unknown(steps)
        p_value, score = np.full((2, *is_asked.shape), np.nan)
        with closing(self._answers(is_asked, steps)) as answers:
            for done, (source, target, answer) in enumerate(answers, start=1):
                p_value[source, target] = answer.p_value
                score[source, target] = np.nan if answer.statistic is None else answer.statistic
                if on_settled is not None:
                    on_settled(done, int(is_asked.sum()))
        p_value, score = p_value.ravel(), score.ravel()
        is_told = ~np.isnan(p_value)
        weighted = p_value if weights is None else np.minimum(p_value / weights, 1.0)
        is_found = is_told & (np.nan_to_num(weighted, nan=1.0) < self.alpha)
        return Evidence.of_test(self.edges, free, is_found, is_told, score=score, p_value=p_value)

    def _answers(
        self, is_asked: np.ndarray, steps: dict[int, np.ndarray]
    ) -> Generator[tuple[int, int, Answer]]:
        """Source, target and answer of all edges that are asked about, as the workers find them."""
        found: Queue[tuple[int, int, Answer] | BaseException] = Queue()
        is_over = Event()

        def ask(target: int) -> None:
            sources = [int(i) for i in np.flatnonzero(is_asked[:, target])]
            rng = np.random.default_rng([self.seed, target])
            try:
                before, after = self._samples(target, steps[target])
                cluster = self.data.clusters[np.searchsorted(self.data.starts, steps[target])]
                answers = self.test.answer_each(before, after, sources, rng, cluster)
                for source, answer in zip(sources, answers, strict=True):
                    if is_over.is_set():
                        return
                    found.put((source, target, answer))
            except BaseException as error:
                found.put(error)

        with ThreadPoolExecutor(self.workers) as pool:
            try:
                for target in steps:
                    pool.submit(ask, target)
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
        self.test.load()
        for _ in range(MOST_CUTS):
            needed = tests._seconds_of_all(free)
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

    def _seconds_of_all(self, free: np.ndarray) -> float:
        """How long all tests take with all workers busy, reckoned from the trees of a few."""
        rng = np.random.default_rng(self.seed)
        is_asked = self.edges.matrix(free)
        few = np.zeros_like(is_asked)
        num = min(max(int(free.sum()) // 32, 1), TRIALS)
        for target in rng.permutation(np.flatnonzero(is_asked.any(0)))[: self.workers]:
            few[rng.permutation(np.flatnonzero(is_asked[:, target]))[:num], target] = True
        started = time.perf_counter()
        for _ in self._answers(few, self._steps(few)):
            pass
        return (time.perf_counter() - started) * self._num_trees(is_asked) / self._num_trees(few)

    def _num_trees(self, is_asked: np.ndarray) -> int:
        return sum(self.test.num_trees(num) for num in is_asked.sum(0).tolist() if num)

    def _steps(self, is_asked: np.ndarray) -> dict[int, np.ndarray]:
        """The steps that the tests of each output see: all inputs known, and it a step later."""
        full, steps = self.edges.full, {}
        are_inputs_known = np.ones(len(self.data), dtype=bool)
        for name in full.inputs:
            are_inputs_known &= self._is_known(name, self.data.starts)
        for target in np.flatnonzero(is_asked.any(0)):
            name = full.outputs[target]
            is_known = are_inputs_known & self._is_known(name, self.data.starts + 1)
            if int(is_known.sum()) < LEAST_SAMPLES:
                raise DataError(
                    f"Tests of edges into `{name}`: expected at least {LEAST_SAMPLES} transitions "
                    "in which it and all values before the step are known, got "
                    f"{int(is_known.sum())} of {len(self.data)}. Log more, or use a method that "
                    "needs no tests."
                )
            # The same random numbers for all: outputs that are always known share their steps.
            drawn = np.random.default_rng(self.seed).permutation(self.data.starts[is_known])
            steps[int(target)] = np.sort(drawn[: self.max_samples])
        return steps

    def _is_known(self, name: str, steps: np.ndarray) -> np.ndarray:
        c, i, f = Variable.parse(name)
        is_known: np.ndarray = self.data.observed[c][f][steps, i]
        return is_known

    def _warn_of_unknown(self, steps: dict[int, np.ndarray]) -> None:
        """Say so if missing values leave fewer samples than there are transitions for."""
        expected = min(self.max_samples, len(self.data))
        target = min(steps, key=lambda each: len(steps[each]), default=None)
        if target is not None and len(steps[target]) < expected:
            logger.warning(
                "Tests of edges into `%s` see %d transitions, not %d: they need those in which it "
                "and all values before the step are known. Log more, or fill in what is missing.",
                *(self.edges.full.outputs[target], len(steps[target]), expected),
            )

    def _samples(self, target: int, steps: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """All inputs before some transitions and an output after them, (sample, number) each."""
        full = self.edges.full
        before = [self._column(name, steps) for name in full.inputs]
        return before, self._column(full.outputs[target], steps + 1)

    def _column(self, name: str, steps: np.ndarray) -> np.ndarray:
        c, i, f = Variable.parse(name)
        return numbers(self.data.schema.field(c, f), self.data.values[c][f][steps, i])
