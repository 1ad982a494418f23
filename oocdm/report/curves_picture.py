"""Curves against steps as a picture: wrong edges, and AILL in and out of distribution."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from oocdm.files import write_atomically

THEIRS = "authors' program"
COLOURS = {THEIRS: "#8a8a8a", "paper": "#08306b", "default": "#d95f02"}
LINEAR = 10.0  # nats of either sign; beyond, the scale is logarithmic


def draw_curves(cells: Sequence[Mapping[str, Any]], authors: Mapping[str, Any]) -> Figure:
    """Our curves and the authors', a line for each seed; o.o.d. is dashed.

    >>> row = {"steps": 1000, "wrong": 9, "aill_id": 1.5, "aill_ood": -2334.0}
    >>> theirs = {"possible": 68, "curves": [{"seed": 7, "rows": [row]}]}
    >>> len(draw_curves([{"preset": "paper", "seed": 0, "rows": [row]}], theirs).axes)
    2
    """
    figure = Figure(figsize=(10, 3.6), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2)
    for curve in (*authors["curves"], *cells):
        name = curve.get("preset", THEIRS)
        label, colour = name if name == THEIRS else f"ours, preset {name}", COLOURS[name]
        _draw(left, curve, "wrong", "o-", label, colour)
        _draw(right, curve, "aill_id", "o-", f"{label}, i.d.", colour)
        _draw(right, curve, "aill_ood", "o--", f"{label}, o.o.d.", colour)
    left.set_title(f"wrong class edges, of {authors['possible']} that can occur", fontsize=9)
    left.set_ylim(bottom=-1)
    right.set_title("AILL in nats; logarithmic beyond ±10", fontsize=9)
    right.set_yscale("symlog", linthresh=LINEAR)
    right.axhline(0, color="#dddddd", linewidth=0.8, zorder=0)
    for axes in (left, right):
        axes.set_xlabel("steps", fontsize=8)
        axes.xaxis.set_major_formatter(FuncFormatter(_thousands))
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=7)
        handles, labels = axes.get_legend_handles_labels()
        each = dict(zip(labels, handles, strict=True))  # the seeds of a kind look alike
        axes.legend(each.values(), each.keys(), fontsize=7, frameon=False)
    right.yaxis.set_major_formatter(FuncFormatter(_thousands))
    return figure


def _draw(
    axes: Axes, curve: Mapping[str, Any], name: str, style: str, label: str, colour: str
) -> None:
    rows = [row for row in curve["rows"] if row[name] is not None]
    # What was read somewhere between two steps stands in the middle.
    x = [(row.get("from_steps", row["steps"]) + row["steps"]) / 2 for row in rows]
    y = [row[name] for row in rows]
    axes.plot(x, y, style, color=colour, label=label, markersize=3, linewidth=1)


def _thousands(value: float, _: int | None) -> str:
    return f"{value:,.0f}"


def save_curves(
    path: str | Path, cells: Sequence[Mapping[str, Any]], authors: Mapping[str, Any]
) -> None:
    """Write the picture of `draw_curves` as a PNG file, whole or not at all."""
    buffer = io.BytesIO()
    draw_curves(cells, authors).savefig(buffer, format="png")
    write_atomically(Path(path), buffer.getvalue())
