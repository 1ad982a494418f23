"""A progress bar with the time left: drawn on a terminal, silent anywhere else."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

import rich.progress
from rich.console import Console
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from oocdm.report.terminal import say_part, say_round, short_number

if TYPE_CHECKING:
    from oocdm.online import OnlineProgress
    from oocdm.planning import EpisodesProgress
    from oocdm.training.position import Progress

_PHASES = {
    "discover": "Testing edges",
    "learn": "Learning the graph",
    "confirm": "Learning what is doubtful",
    "focus": "Learning what is hard",
    "polish": "Polishing the model",
    "copy": "Learning what is unknown",
}
_SPEED_SECONDS = 120  # speed is averaged over so long, since discovery comes between steps


class ProgressBar:
    """How far a piece of work is, one row for each; use it as a context manager.

    `show_fit` is a `callback` for `oocdm.fit`, `show_collect` a `progress` for `oocdm.collect`.
    A row that ends early, as learning does when the graph has settled, is filled when the next
    one starts.

    >>> import io
    >>> terminal = io.StringIO()
    >>> with ProgressBar(Console(file=terminal, force_terminal=True)) as bar:
    ...     bar.show_collect(100, 100)
    >>> "Collecting" in terminal.getvalue()
    True
    """

    def __init__(self, console: Console | None = None) -> None:
        chosen = Console(stderr=True) if console is None else console
        self._is_shown = chosen.is_terminal
        self._rows: dict[str, TaskID] = {}
        self._parts_told = self._rounds_told = 0  # of online learning
        self._bar = rich.progress.Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("time left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=chosen,
            disable=not self._is_shown,
            speed_estimate_period=_SPEED_SECONDS,
            refresh_per_second=4,
        )

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def show(self, title: str, done: int, total: int, note: str = "") -> None:
        """Draw the row of one piece of work."""
        if not self._is_shown:
            return
        if title not in self._rows:
            for row in self._bar.tasks:
                self._bar.update(row.id, total=row.completed)
            self._rows[title] = self._bar.add_task(title, total=total, note=note)
        self._bar.update(self._rows[title], completed=done, total=total, note=note)

    def tell(self, text: str) -> None:
        """Write a line above the rows."""
        if self._is_shown:
            self._bar.console.print(text, markup=False, highlight=False)

    def show_worlds(self, done: int, total: int) -> None:
        """Draw how many generated worlds are fitted."""
        self.show("Fitting worlds", done, total)

    def show_collect(self, done: int, total: int) -> None:
        """Draw how many transitions are collected."""
        self.show("Collecting", done, total)

    def show_edges(self, settled: int, total: int) -> None:
        """Draw how many edges are settled."""
        self.show("OnSettled edges", settled, total, f"{settled} of {total}")

    def show_episodes(self, title: str, progress: EpisodesProgress) -> None:
        """Draw where the episodes of an agent are, what they earned, and what an action costs."""
        earned, cost = short_number(progress.mean_return), 1000 * progress.seconds_a_step
        note = f"mean return {earned}, {cost:.0f} ms a step"
        self.show(title, progress.done, progress.total, note)

    def show_fit(self, progress: Progress) -> None:
        """Draw where training is."""
        self.show_cell("", progress)

    def show_online(self, progress: OnlineProgress) -> None:
        """Draw where online learning is, and write a line for every part and every round."""
        parts, rounds = progress.history.parts, progress.history.rounds
        for part in parts[self._parts_told :]:
            self.tell(say_part(part))
        for each in rounds[self._rounds_told :]:
            self.tell(say_round(each))
        self._parts_told, self._rounds_told = len(parts), len(rounds)
        title = f"Round {progress.round} of {progress.rounds}:"
        if progress.fit is None:
            self.show(f"{title} Collecting", progress.collected, progress.steps)
        else:
            self.show_cell(title, progress.fit)

    def show_cell(self, name: str, progress: Progress) -> None:
        """Draw where the training of one of several models is."""
        title = _PHASES.get(progress.phase, progress.phase)
        note = ", ".join(f"{key} {value:.4g}" for key, value in progress.metrics.items())
        self.show(f"{name} {title}".strip(), progress.step, progress.total, note)
