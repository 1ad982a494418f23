"""The progress bar shows the time left on a terminal, and nothing in a pipe."""

from __future__ import annotations

import io

from rich.console import Console

from oocdm.online import History, OnlineProgress, Part, Round
from oocdm.planning import EpisodesProgress
from oocdm.report.progress import ProgressBar
from oocdm.training import Progress


def draw(bar: ProgressBar) -> None:
    with bar:
        bar.show_collect(50, 100)
        bar.tell("[half] way")
        bar.show_fit(Progress("learn", 20, 100, {"loss": -1.25}))
        bar.show_fit(Progress("polish", 10, 40, {"loss": -2.5}))
        bar.show_episodes("Acting", EpisodesProgress(30, 120, 1.5, 0.25))
        bar.show_cell("block5-seed0", Progress("learn", 1, 4, {}))


def test_terminal_shows_work_and_time_left() -> None:
    terminal = io.StringIO()
    draw(ProgressBar(Console(file=terminal, force_terminal=True, width=120)))
    text = terminal.getvalue()
    for part in ("Collecting", "Learning the graph", "Polishing the model", "time left"):
        assert part in text
    assert "[half] way" in text
    assert "loss -2.5" in text
    assert "mean return 1.50, 250 ms a step" in text
    assert "block5-seed0 Learning the graph" in text


def test_rows_that_ended_early_are_filled() -> None:
    bar = ProgressBar(Console(file=io.StringIO(), force_terminal=True))
    draw(bar)
    *ended, last = bar._bar.tasks
    assert all(row.finished for row in ended)
    assert (last.completed, last.total) == (1, 4)


def test_pipe_shows_nothing() -> None:
    pipe = io.StringIO()
    draw(ProgressBar(Console(file=pipe)))
    assert pipe.getvalue() == ""


def test_online_learning_tells_each_part_and_each_round_once() -> None:
    terminal = io.StringIO()
    part = Part(1, 50, 2, 1.5, 0.1, None)
    done = Round.of(1, 50, 50, {"Ball.x <- self.x"}, None, True, 1.0)
    with ProgressBar(Console(file=terminal, force_terminal=True, width=120)) as bar:
        bar.show_online(OnlineProgress(1, 2, 20, 100, History()))
        bar.show_online(OnlineProgress(1, 2, 50, 100, History((part,))))
        fit = Progress("learn", 20, 100, {})
        bar.show_online(OnlineProgress(1, 2, 50, 100, History((part,)), fit))
        bar.show_online(OnlineProgress(1, 2, 50, 100, History((part,), (done,))))
        part = Part(2, 100, 2, 2.5, 0.1, 9.0)
        bar.show_online(OnlineProgress(2, 2, 100, 100, History((part, part), (done,))))
    text = terminal.getvalue()
    for told in (
        "50 transitions: return 1.50 in 2 whole episodes, no model yet",
        "Round 1, learned from 50 transitions: 1 edge, + Ball.x <- self.x",
        "100 transitions: return 2.50 in 2 whole episodes, AILL 9.00 before learning",
    ):
        assert text.count(told) == 1
    for row in ("Round 1 of 2: Collecting", "Round 1 of 2: Learning", "Round 2 of 2: Collecting"):
        assert row in text
