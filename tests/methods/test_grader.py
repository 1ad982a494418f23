"""GRADER: tests before training, on as many transitions as the time allows."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import oocdm
from oocdm import (
    FitResult,
    ModelError,
    Progress,
    Schedule,
)
from oocdm.discovery.independence.tests import Answer, FastCit
from oocdm.discovery.independence.variable_tests import VariableTests
from tests.methods.toys import (
    DATA,
    FULL,
    QUICK,
)


def test_limited_time_is_enough_for_tests_and_for_training(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    samples: list[int] = []

    def answer_each(test: FastCit, inputs: Any, y: np.ndarray, asked: Any, *_: Any) -> Any:
        nonlocal now
        now += 1e-3 * len(y) * 12 / 8  # twelve trees for all, eight for each
        for _ in asked:
            samples.append(len(y))
            now += 1e-3 * len(y)
            yield Answer(0.5)

    def step(progress: Progress) -> None:
        nonlocal now
        now += 0.0 if progress.phase == "discover" else 0.05

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    monkeypatch.setattr(FastCit, "answer_each", answer_each)
    schedule = replace(QUICK, iterations=1_000, polish_steps=1_000)
    result = oocdm.fit(
        DATA, "grader", schedule=schedule, workers=1, max_seconds=10.0, callback=step
    )
    # The 24 tests of 4 outputs would take 30 s with 1,000 transitions: they get half of the 10 s.
    assert samples[:2] == [1000, 75] and set(samples[2:]) == {75}
    assert "24 tests of edges on 1000 transitions would take longer than the 5 s" in caplog.text
    steps = {entry["phase"]: entry["step"] for entry in result.history}
    assert steps["learn"] + steps["polish"] + steps["copy"] == pytest.approx(
        (10 - 4.94) / 0.05, abs=2
    )
    assert steps["learn"] / (steps["polish"] + steps["copy"]) == pytest.approx(3, rel=0.1)


def test_tests_that_fit_the_time_see_all_transitions(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[int] = set()

    def answer_each(test: FastCit, inputs: Any, y: np.ndarray, asked: Any, *_: Any) -> Any:
        seen.add(len(y))
        return (Answer(0.5) for _ in asked)

    monkeypatch.setattr(FastCit, "answer_each", answer_each)
    oocdm.fit(DATA, "grader", schedule=QUICK, workers=1, max_seconds=60.0)
    assert seen == {1000}


def test_tests_run_on_as_many_threads_as_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []

    def discover(tests: VariableTests, *_: Any) -> Any:
        used.append(tests.workers)
        raise KeyboardInterrupt

    monkeypatch.setattr(VariableTests, "discover", discover)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            with pytest.raises(KeyboardInterrupt):
                oocdm.fit(DATA, "grader", schedule=QUICK)
    finally:
        torch.set_num_threads(before)
    assert used == [1, 2]


def test_tests_run_side_by_side_give_the_same() -> None:
    quick = Schedule(1, 1, 0)
    one, two = (
        oocdm.fit(DATA, "grader", schedule=quick, max_samples=60, workers=n) for n in (1, 2)
    )
    assert one.evidence.rows() == two.evidence.rows()


def test_grader_tells_how_far_its_tests_are() -> None:
    told: list[Progress] = []
    quick = Schedule(1, 1, 0)
    oocdm.fit(DATA, "grader", schedule=quick, max_samples=60, workers=1, callback=told.append)
    steps = [p.step for p in told if p.phase == "discover"]
    assert steps == list(range(1, FULL.matrix.size + 1))


def test_beliefs_of_a_run_hold_when_it_discovers_again() -> None:
    doubted = oocdm.fit(
        DATA, "grader", priors=["Ball.x <- ?1e-300 self.push"], schedule=QUICK, workers=1
    )
    edge = "Ball[0].x <- Ball[0].push"
    assert edge not in oocdm.discover(doubted, DATA).graph
    assert edge in oocdm.discover(doubted, DATA, priors=[]).graph


def test_grader_has_another_threshold(fitted: dict[str, FitResult]) -> None:
    message = (
        "Method `grader` has no threshold in nats: it finds edges with a p-value below its option "
        "`alpha`, here 0.1. Fit with another alpha instead."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        oocdm.discover(fitted["grader"], DATA, threshold=0.3)
