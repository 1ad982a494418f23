"""How often decisions are wrong, as a picture: errors and power of each rule."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from oocdm.files import write_atomically

NOMINAL = 0.05  # the false-discovery rate that automatic decisions promise
AUTOMATIC, FIXED = "#08306b", "#9a9a9a"


def draw_calibration(summary: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Wrong shares and power of each rule with 95 % intervals, from `run_calibration`.

    >>> row = {"worlds": 4, "false_discovery_rate": 0.02, "false_discovery_interval": [0, 0.05]}
    >>> row |= {"power": 0.9, "power_interval": [0.8, 1.0], "exact_graphs": 0.5}
    >>> len(draw_calibration({"automatic": row, "0.1": row}).axes)
    2
    """
    names = list(summary)
    labels = [name if name == "automatic" else f"threshold {name}" for name in names]
    colours = [AUTOMATIC if name == "automatic" else FIXED for name in names]
    figure = Figure(figsize=(8, 0.9 + 0.45 * len(names)), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    panels = (
        (left, "false_discovery_rate", "false_discovery_interval", "wrong among the edges found"),
        (right, "power", "power_interval", "found of the true edges"),
    )
    for axes, value, interval, title in panels:
        for y, (name, colour) in enumerate(zip(names, colours, strict=True)):
            low, high = summary[name][interval]
            axes.plot([low, high], [y, y], color=colour, linewidth=2)
            axes.plot(summary[name][value], y, "o", color=colour)
        axes.set_title(title, fontsize=9)
        axes.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f} %")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(left=False, labelsize=8)
    left.axvline(NOMINAL, color="#d62728", linestyle="--", linewidth=1)
    left.set_xlim(left=0)
    left.set_yticks(range(len(names)), labels)
    left.set_ylim(len(names) - 0.5, -0.5)
    return figure


def save_calibration(path: str | Path, summary: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the picture of `draw_calibration` as a PNG file, whole or not at all."""
    buffer = io.BytesIO()
    draw_calibration(summary).savefig(buffer, format="png")
    write_atomically(Path(path), buffer.getvalue())
