"""How long learning goes on, and what is said if its decisions have not settled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oocdm import ModelOptions, Oocdm, Oofull, Schedule, fit
from oocdm.graph import ClassEdges, Evidence
from oocdm.training import Trainer
from oocdm.training.settling import MOST_NAMED, most_iterations, what_is_open
from tests.training.toys import DATA, METHODS, SMALL

EDGES = ClassEdges.of(DATA.schema)
NO = np.zeros(len(EDGES), dtype=bool)


def test_the_number_of_iterations_grows_with_the_edges() -> None:
    assert [most_iterations(Oocdm(), n, False) for n in (0, 9, 68, 500)] == [10, 10, 16, 60]
    assert most_iterations(Oocdm(), 68, True) == np.inf


@pytest.mark.parametrize("is_timed", [False, True])
def test_nothing_goes_on_that_was_not_asked_to(is_timed: bool) -> None:
    """A number of iterations that was given, a known graph, and methods that do not test edges."""
    few = Oocdm(schedule=Schedule(iterations=4))
    assert most_iterations(few, 500, is_timed) == 4
    assert most_iterations(Oocdm.preset("paper"), 500, is_timed) == 50
    assert most_iterations(Oofull(), 500, is_timed) == 4
    assert most_iterations(Oocdm(), 0, is_timed) == 10


def test_what_is_open_is_what_moved_or_is_undecided() -> None:
    all_tested = ~NO
    evidence = Evidence.of_test(EDGES, all_tested, NO, all_tested)
    moved = NO.copy()
    moved[1] = True
    assert what_is_open([moved, NO], evidence, 3) == f"still open were `{EDGES.names[1]}`"
    # What moved before the last iterations has settled.
    too_early = what_is_open([moved, NO, NO, NO, NO], evidence, 3)
    assert too_early == "the graph was not looked at often enough to tell"
    many = what_is_open([], Evidence.nothing(EDGES), 3)
    assert many.endswith(f"and {len(EDGES) - MOST_NAMED} more")
    assert many.count("<-") == MOST_NAMED


UNSETTLED = Oocdm(
    model=ModelOptions(**SMALL),
    schedule=Schedule(None, 1, 2, patience=9, batch_size=32),
    num_graphs=4,
    max_scored=8,
)


def test_learning_goes_on_until_decisions_have_settled(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With rates that stay at their least, and with a word if they never do."""
    rates: list[float] = []
    step = Trainer._step

    def record(self: Trainer, terms: object, rate: float, *others: object) -> float:
        if self.position.phase == "learn":
            rates.append(rate)
            # A graph that never stays as it is.
            self.position.unchanged = -1
        return step(self, terms, rate, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(Trainer, "_step", record)
    result = fit(DATA, UNSETTLED)
    num_edges = int(EDGES.testable(DATA.max_counts).sum())
    assert len(rates) == 10 + num_edges // 10 > 10
    assert rates[10:] == pytest.approx([UNSETTLED.schedule.final_learning_rate] * (num_edges // 10))
    assert min(rates[:10]) > max(rates[10:])
    assert not result.settled and not result.ran_out and "not settled" in repr(result)
    said = f"the decisions had not settled when learning ended, after {len(rates)} steps: "
    assert said in caplog.text and "allow more iterations or time" in caplog.text


def test_a_quick_look_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    quick = replace(UNSETTLED, schedule=replace(UNSETTLED.schedule, iterations=2))
    assert not fit(DATA, quick).settled and not caplog.text


@pytest.mark.parametrize("name", ["oocdm", "oofull"])
def test_what_is_not_discovered_is_settled(name: str) -> None:
    quick = replace(METHODS[name], schedule=replace(METHODS[name].schedule, iterations=1))
    assert fit(DATA, quick, graph=["Ball.x <- self.x"]).settled
