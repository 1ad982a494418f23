"""The progress bar shows the time left on a terminal, and nothing in a pipe."""

from __future__ import annotations

import io

from rich.console import Console

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
