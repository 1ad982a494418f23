"""How many edges are wrong as data grow, as a picture."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from oocdm.files import write_atomically
from oocdm.report.calibration_picture import AUTOMATIC

GREYS = ("#bdbdbd", "#8a8a8a", "#525252")  # one for each fixed threshold


def draw_samples(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Wrong edges of each rule against transitions, a panel for each environment.

    Lines are means over seeds, points are single fits.

    >>> row = {"env": "block5", "transitions": 500, "wrong": {"automatic": 3, "0.1": 5}}
    >>> len(draw_samples([row, {**row, "transitions": 5_000}]).axes)
    1
    """
    envs = list(dict.fromkeys(row["env"] for row in rows))
    figure = Figure(figsize=(4.2 * len(envs), 3), dpi=150, layout="constrained")
    panels = figure.subplots(1, len(envs), squeeze=False)[0]
    for axes, env in zip(panels, envs, strict=True):
        here = [row for row in rows if row["env"] == env]
        sizes = sorted({row["transitions"] for row in here})
        rules = [name for name in here[0]["wrong"] if name != "automatic"]
        styles = dict(zip(rules, GREYS, strict=False)) | {"automatic": AUTOMATIC}
        for rule, colour in styles.items():
            wrong = [[r["wrong"][rule] for r in here if r["transitions"] == n] for n in sizes]
            label = rule if rule == "automatic" else f"threshold {rule}"
            axes.plot(sizes, [np.mean(each) for each in wrong], color=colour, label=label)
            for size, each in zip(sizes, wrong, strict=True):
                axes.plot([size] * len(each), each, ".", color=colour, markersize=5)
        axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{n:,}" for n in sizes], fontsize=7)
        axes.set_xticks([], minor=True)
        axes.set_xlabel("transitions", fontsize=8)
        axes.set_title(f"{env}: wrong class edges", fontsize=9)
        axes.set_ylim(-0.2, max(4.0, axes.get_ylim()[1]))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=7)
    panels[0].legend(fontsize=7, frameon=False)
    return figure


def save_samples(path: str | Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the picture of `draw_samples` as a PNG file, whole or not at all."""
    buffer = io.BytesIO()
    draw_samples(rows).savefig(buffer, format="png")
    write_atomically(Path(path), buffer.getvalue())
