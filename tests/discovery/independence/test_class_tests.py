"""Edges by independence tests: the logic, with an oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.discovery.independence.class_tests import discover_by_tests
from oocdm.discovery.independence.merged_samples import Question
from oocdm.discovery.independence.tests import (
    Answer,
    OracleTest,
)
from oocdm.errors import OocdmError
from oocdm.graph import ClassEdges, ClassGraph
from oocdm.schema import Schema
from tests.discovery.independence.toys import (
    BALLS,
    LINEAR,
    random_dataset,
    worlds,
)


@settings(max_examples=40)
@given(world=worlds(), density=st.floats(0, 1))
def test_oracle_gives_back_any_graph(
    world: tuple[Schema, dict[str, int], int], density: float
) -> None:
    schema, counts, seed = world
    true = ClassGraph.random(schema, density, np.random.default_rng(seed))
    evidence = discover_by_tests(random_dataset(schema, counts, seed), OracleTest(true))
    testable = ClassEdges.of(schema).testable(counts)
    np.testing.assert_array_equal(evidence.graph.mask, true.mask & testable)
    np.testing.assert_array_equal(evidence.decision == "untestable", ~testable)
    np.testing.assert_array_equal(np.isnan(evidence.p_value), ~testable)
    np.testing.assert_array_equal(np.isnan(evidence.score), ~testable)
    assert np.isfinite(evidence.score[testable]).all()


def test_progress_counts_testable_edges() -> None:
    seen: list[tuple[int, int]] = []
    discover_by_tests(
        random_dataset(BALLS, {"Ball": 1}, 0),
        OracleTest(LINEAR),
        progress=lambda *at: seen.append(at),
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


class Scripted:
    """Answers edge by edge as told, and remembers how many samples it was shown."""

    max_samples = 7

    def __init__(self, answers: list[Answer]) -> None:
        self.answers = iter(answers)
        self.seen: list[int] = []

    def answer(self, question: Question, rng: np.random.Generator) -> Answer:
        self.seen.append(len(question.x))
        return next(self.answers)


def test_decisions_scores_and_number_of_samples() -> None:
    data = random_dataset(BALLS, {"Ball": 1}, 0, rows=40)
    answers = [Answer(0.001), Answer(0.2), Answer(np.nan), Answer(0.002, statistic=5.0)]
    test = Scripted(answers)
    evidence = discover_by_tests(data, test, alpha=0.01)
    assert evidence.decision[:4].tolist() == ["yes", "no", "undecided", "yes"]
    np.testing.assert_allclose(evidence.score[:4], [3.0, -np.log10(0.2), np.nan, 5.0])
    assert test.seen == [7] * 4
    more = Scripted(answers)
    discover_by_tests(data, more, max_samples=100)
    assert more.seen == [20] * 4


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "fcti"}, "Unknown independence test `fcti`. Did you mean `fcit`?"),
        ({"alpha": 1.0}, "expected alpha between 0 and 1, got 1.0"),
        ({"max_samples": 0}, "expected max_samples of at least 1, got 0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OocdmError, match=message.replace("?", r"\?")):
        discover_by_tests(random_dataset(BALLS, {"Ball": 1}, 0), **options)
