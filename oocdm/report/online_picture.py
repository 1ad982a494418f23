"""What online learning earned and predicted along the way, as a picture."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from oocdm.files import write_atomically

COLOURS = ("#08306b", "#d95f02", "#1b7837", "#7a7a7a")
PANELS = ("mean return", "AILL before learning", "edges that came and went")


def draw_online(histories: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Return, AILL on new data and edges that changed against transitions, a line for each history.

    Points are the parts that were collected at once; dotted lines are the ends of rounds. Bars
    upwards are edges that came with a round, bars downwards those that went.

    >>> part = {"round": 1, "transitions": 90, "mean_return": 1.0, "aill": None}
    >>> round_ = {"transitions": 90, "added": ["Ball.x <- self.x"], "removed": []}
    >>> len(draw_online({"seed 0": {"parts": [part], "rounds": [round_]}}).axes)
    3
    """
    figure = Figure(figsize=(5.6, 6.2), dpi=150, layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    returns, aills, changes = panels
    ends = sorted({row["transitions"] for each in histories.values() for row in each["rounds"]})
    for axes, title in zip(panels, PANELS, strict=True):
        axes.set_title(title, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=7)
        for end in ends:
            axes.axvline(end, color="#d0d0d0", linestyle=":", linewidth=0.8, zorder=0)
    # Bars of several histories stand side by side.
    width = 0.02 * max(ends, default=1)
    for i, (name, history) in enumerate(histories.items()):
        colour = COLOURS[i % len(COLOURS)]
        _line(returns, history["parts"], "mean_return", name, colour)
        _line(aills, history["parts"], "aill", name, colour)
        places = [row["transitions"] + i * width for row in history["rounds"]]
        for sign, key in ((1, "added"), (-1, "removed")):
            heights = [sign * len(row[key]) for row in history["rounds"]]
            changes.bar(places, heights, width, color=colour, alpha=1.0 if sign > 0 else 0.5)
    changes.axhline(0, color="#555555", linewidth=0.8)
    changes.yaxis.set_major_locator(MaxNLocator(integer=True))
    changes.set_xlabel("transitions", fontsize=8)
    if len(histories) > 1:
        returns.legend(fontsize=7, frameon=False)
    return figure


def _line(axes: Axes, parts: Sequence[Mapping[str, Any]], key: str, name: str, colour: str) -> None:
    known = [(row["transitions"], row[key]) for row in parts if row[key] is not None]
    axes.plot(
        [x for x, _ in known], [y for _, y in known], "o-", color=colour, label=name, markersize=3
    )


def save_online(path: str | Path, histories: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the picture of `draw_online` as a PNG file, whole or not at all."""
    buffer = io.BytesIO()
    draw_online(histories).savefig(buffer, format="png")
    write_atomically(Path(path), buffer.getvalue())
