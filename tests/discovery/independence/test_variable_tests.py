"""Tests of edges between variables: what they need, and how long they take."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest

import oocdm
from oocdm import (
    DataError,
)
from oocdm.discovery.independence.tests import Answer, FastCit
from oocdm.discovery.independence.variable_tests import VariableTests
from oocdm.graph import VariableEdges
from tests.methods.toys import (
    COUNTS,
    DATA,
    FULL,
    QUICK,
    SCHEMA,
    with_unknown,
)


def test_a_library_that_loads_slowly_is_not_taken_for_slow_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, is_loaded = 100.0, False

    def load(test: FastCit) -> None:
        nonlocal now, is_loaded
        now += 0.0 if is_loaded else 3.0
        is_loaded = True

    def answer_each(test: FastCit, inputs: Any, y: Any, asked: Any, *_: Any) -> Any:
        nonlocal now
        load(test)
        for _ in asked:
            now += 0.1
            yield Answer(0.5)

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    monkeypatch.setattr(FastCit, "load", load)
    monkeypatch.setattr(FastCit, "answer_each", answer_each)
    edges = VariableEdges(SCHEMA, COUNTS)
    tests = VariableTests(DATA, edges).within(20.0, np.ones(len(edges), dtype=bool))
    assert tests.max_samples == 1000  # 24 tests take less than 3 s


def test_tests_need_transitions_that_are_all_known() -> None:
    data = with_unknown(DATA, "Lamp", "heat", np.ones((len(DATA.episode), 1), dtype=bool))
    message = (
        "Tests of edges into `Ball[0].x`: expected at least 20 transitions in which it and all "
        "values before the step are known, got 0 of 2280. Log more, or use a method that needs "
        "no tests."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        oocdm.fit(data, "grader", schedule=QUICK)
    with pytest.raises(DataError, match=r"before the step are known, got 15 of 15\. Log more"):
        tests = VariableTests(DATA.head(15), VariableEdges(SCHEMA, COUNTS))
        tests.discover(np.ones(FULL.matrix.size, dtype=bool))


def test_values_missing_after_a_step_cost_only_tests_of_their_output(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Half of the last steps lack the heat: it is an output there, and no input."""
    seen: list[int] = []

    def answer_each(test: FastCit, inputs: Any, y: np.ndarray, asked: Any, *_: Any) -> Any:
        seen.append(len(y))
        assert {len(column) for column in inputs} == {len(y)}
        return (Answer(0.5) for _ in asked)

    monkeypatch.setattr(FastCit, "answer_each", answer_each)
    short = DATA.select_episodes(DATA.episode_ids[:30])
    is_unknown = (short.step == short.step.max()) & (short.episode % 2 == 0)
    data = with_unknown(short, "Lamp", "heat", is_unknown[:, None])
    everything = np.ones(FULL.matrix.size, dtype=bool)
    VariableTests(data, VariableEdges(SCHEMA, COUNTS)).discover(everything)
    assert seen == [570, 570, 570, 555]
    assert (
        "Tests of edges into `Lamp[0].heat` see 555 transitions, not 570: they need those in "
        "which it and all values before the step are known. Log more, or fill in what is missing."
    ) in caplog.text
    seen.clear()
    caplog.clear()
    VariableTests(data, VariableEdges(SCHEMA, COUNTS), max_samples=550).discover(everything)
    assert seen == [550] * 4 and not caplog.text
