"""Limited time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oocdm import (
    ModelOptions,
    Oocdm,
    Oofull,
    Progress,
    fit,
    resume,
)
from oocdm.training import clock, confirm, focus, trainer
from tests.training.toys import (
    DATA,
    SCHEDULE,
    SMALL,
    Interrupt,
    assert_same,
)

pytestmark = pytest.mark.usefixtures("short_rounds")


class Watch:
    """A clock that goes by steps: 1 s for each of learning, none for polishing."""

    def __init__(self, *phases: str) -> None:
        self.now, self.phases = 0.0, phases or ("learn",)

    def perf_counter(self) -> float:
        return self.now

    def __call__(self, progress: Progress) -> None:
        self.now += progress.phase in self.phases


EVEN = replace(SCHEDULE, polish_steps=4, polish_batch_size=32)  # as large as when it learns
LIMITED = Oofull(model=ModelOptions(**SMALL), schedule=EVEN)


@pytest.mark.parametrize(("limit", "steps"), [(16.5, 12), (16.0, 12), (12.0, 9)])
def test_what_limited_time_left_undone_is_told(
    limit: float, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Learning has three quarters of the time, and polishing is over long before its end."""
    watch = Watch()
    monkeypatch.setattr(clock, "time", watch)
    result = fit(DATA, LIMITED, callback=watch, max_seconds=limit)
    done = {row["phase"]: row["step"] for row in result.history}
    assert done == {"learn": steps, "polish": 4}
    assert result.ran_out == (steps < 12)
    assert result.seconds < 0.99 * limit


def test_a_resumed_phase_has_no_more_time_than_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch()
    monkeypatch.setattr(clock, "time", watch)

    def interrupt(progress: Progress) -> None:
        watch(progress)
        if progress.step == 6:
            raise Interrupt

    with pytest.raises(Interrupt):
        fit(DATA, LIMITED, folder=tmp_path, callback=interrupt, max_seconds=12.0)
    watch.now = 1000.0  # another process
    result = resume(tmp_path, DATA, callback=watch)
    whole = Watch()
    monkeypatch.setattr(clock, "time", whole)
    assert_same(result, fit(DATA, LIMITED, callback=whole, max_seconds=12.0))


def test_time_is_divided_by_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of polishing that has half the samples gets half the time."""
    watch = Watch()
    monkeypatch.setattr(clock, "time", watch)
    half = replace(LIMITED, schedule=replace(EVEN, polish_steps=8, polish_batch_size=16))
    result = fit(DATA, half, callback=watch, max_seconds=12.0)
    assert [row["step"] for row in result.history if row["phase"] == "learn"][-1] == 9


def test_learning_leaves_time_for_single_targets_if_these_may_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of its three quarters three tenths, and these have three tenths of what is left by then.

    Of the rest a tenth is left for confirming what is doubtful, where nothing is here.
    """
    monkeypatch.setattr(confirm, "ROUNDS", 0)
    monkeypatch.setattr(focus.Focus, "unexplained", lambda self: ["Ball.x", "Sum.x"])
    planned = SCHEDULE.planned_steps
    hard = {"learn": 8, "confirm": 0, "focus": 3}
    for least, expected in ((planned + 1, {"learn": 12}), (planned // 2, hard)):
        monkeypatch.setattr(trainer, "LEAST_LEARNED", least)
        watch = Watch("learn", "focus")
        monkeypatch.setattr(clock, "time", watch)
        method = Oocdm(model=LIMITED.model, schedule=EVEN, num_graphs=4)
        result = fit(DATA, method, callback=watch, max_seconds=16.0)
        done = {row["phase"]: row["step"] for row in result.history}
        assert done == {**expected, "polish": 4}
        assert result.ran_out == ("focus" in expected)


GOING_ON = Oocdm(
    model=ModelOptions(**SMALL),
    schedule=replace(EVEN, iterations=None, steps_per_iteration=1, polish_steps=0),
    num_graphs=4,
)


@pytest.mark.parametrize("patience", [2, 10**6])
def test_limited_time_is_used_until_decisions_have_settled(
    patience: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a number of iterations time is the only limit, and what has settled ends earlier."""
    watch = Watch()
    monkeypatch.setattr(clock, "time", watch)
    method = replace(
        GOING_ON,
        schedule=replace(GOING_ON.schedule, patience=patience),
        threshold=1e9,  # which nothing ever reaches
    )
    result = fit(DATA, method, callback=watch, max_seconds=40.0)
    steps = result.history[-1]["step"]
    assert result.settled == (patience == 2) and result.ran_out != result.settled
    if result.settled:
        assert steps < 40 and not caplog.text
    else:
        assert steps == 40 and "time ran out after 40 steps of learning" in caplog.text


def clock_at(monkeypatch: pytest.MonkeyPatch, elapsed: float, limit: float | None) -> Any:
    watch = Watch()
    monkeypatch.setattr(clock, "time", watch)
    return watch, clock.Clock(elapsed, limit)


def test_without_a_limit_no_share_is_ever_over(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, unlimited = clock_at(monkeypatch, 5.0, None)
    unlimited.start(5.0, 0.5)
    watch.now += 100
    assert (unlimited.share, unlimited.elapsed) == (0.0, 105.0)


def test_a_phase_has_its_share_of_the_time_that_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, limited = clock_at(monkeypatch, 2.0, 10.0)  # two seconds before an interruption
    limited.start(2.0, 0.75)
    shares = []
    for _ in range(5):
        shares.append(limited.share)
        watch.now += 2
    assert shares == pytest.approx([0, 1 / 3, 2 / 3, 1, 1])
    limited.start(8.0, 1.0)
    watch.now = 7.0  # nine seconds of training
    assert limited.share == pytest.approx(0.5)


@pytest.mark.parametrize("begin", [10.0, 12.0])
def test_what_begins_too_late_is_over(begin: float, monkeypatch: pytest.MonkeyPatch) -> None:
    _, limited = clock_at(monkeypatch, begin, 10.0)
    limited.start(begin, 1.0)
    assert limited.share == 1.0
