"""Fits of generated worlds as a picture: errors, power over what edges are worth, coverage."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from oocdm.files import write_atomically

NOMINAL = 0.05  # the false-discovery rate that automatic decisions promise
COVERED = 0.9  # what intervals promise
AUTOMATIC, FIXED, PROMISE = "#08306b", "#9a9a9a", "#d62728"
LEAST_WORTH = 5e-4  # edges worth less stand there


def draw_calibration(summary: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Wrong shares and coverage of each family, and power over worth of all worlds.

    `summary` is that of `run_calibration`; bars are 95 % intervals.

    >>> nats = {"coverage": 0.9}
    >>> row = {"wrong_share": 0.02, "wrong_interval": [0, 0.05], "id": nats, "ood": nats}
    >>> curve = [{"worth": 0.01, "share": 0.5, "interval": [0.4, 0.6]}]
    >>> len(draw_calibration({"forces": row, "all": {**row, "curve": curve}}).axes)
    3
    """
    names = list(summary)
    figure = Figure(figsize=(11, 1.6 + 0.22 * len(names)), dpi=150, layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for y, row in enumerate(summary.values()):
        left.plot(row["wrong_interval"], [y, y], color=AUTOMATIC, linewidth=2)
        left.plot(row["wrong_share"], y, "o", color=AUTOMATIC, markersize=4)
        for place, colour in (("id", AUTOMATIC), ("ood", FIXED)):
            if row[place]["coverage"] is not None:
                right.plot(row[place]["coverage"], y, "o", color=colour, markersize=4)
    _label(left, "wrong among the edges found", names, NOMINAL)
    left.set_xlim(left=0)
    _label(right, "in 90 % intervals (grey: o.o.d.)", names, COVERED)
    _draw_power(middle, list(summary.values())[-1]["curve"])
    return figure


def _draw_power(axes: Axes, curve: list[Mapping[str, Any]]) -> None:
    for row in curve:
        if row["share"] is not None:
            x = max(row["worth"], LEAST_WORTH)
            axes.plot([x, x], row["interval"], color=AUTOMATIC, linewidth=2)
            axes.plot(x, row["share"], "o", color=AUTOMATIC, markersize=4)
    axes.set_xscale("log")
    axes.set_ylim(-0.02, 1.02)
    axes.set_title("found of the true edges, over their worth in nats", fontsize=9)
    axes.yaxis.set_major_formatter(_percent)
    _tidy(axes)


def _label(axes: Axes, title: str, names: list[str], promise: float) -> None:
    axes.axvline(promise, color=PROMISE, linestyle="--", linewidth=1)
    axes.set_title(title, fontsize=9)
    axes.xaxis.set_major_formatter(_percent)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    _tidy(axes)


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _percent(value: float, _: float) -> str:
    return f"{100 * value:.0f} %"


def save_calibration(path: str | Path, summary: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the picture of `draw_calibration` as a PNG file, whole or not at all."""
    buffer = io.BytesIO()
    draw_calibration(summary).savefig(buffer, format="png")
    write_atomically(Path(path), buffer.getvalue())
