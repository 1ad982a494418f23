"""How the time of discovery grows with the number of variables, as a picture."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from oocdm.files import write_atomically

COLOURS = {"oocdm": "#08306b", "cdl": "#d95f02", "cdl-a": "#e6ab02", "grader": "#7a7a7a"}


def slope(rows: Sequence[Mapping[str, Any]]) -> float | None:
    """The power of the number of variables that the time grows with, by least squares.

    None if all rows are of one size.

    >>> round(slope([{"variables": n, "seconds": n**3} for n in (10, 20, 40)]), 2)
    3.0
    """
    if len({row["variables"] for row in rows}) < 2:
        return None
    x, y = (np.log([row[name] for row in rows]) for name in ("variables", "seconds"))
    return float(np.polyfit(x, y, 1)[0])


def growth_rows(
    rows: Sequence[Mapping[str, Any]], complexity: Mapping[str, Mapping[str, Any]]
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table: each method's slope beside what the paper's analysis says.

    `complexity` has the time and the power of the number of variables for some of the methods.

    >>> rows = [
    ...     {"method": "cdl", "blocks": k, "variables": 4 * k + 4, "seconds": k**2, "samples": 9}
    ...     for k in (2, 20)
    ... ]
    >>> growth_rows(rows, {"cdl": {"time": "n³ k", "power": 3}})[1]
    [['cdl', '9', '4.0', '400.0', '2.4', 'n³ k', '3']]
    """
    sizes = sorted({row["blocks"] for row in rows})
    ends = [sizes[0], sizes[-1]]
    header = ["method", "samples", *(f"seconds, {size} blocks" for size in ends)]
    header += ["power of the variables", "paper: time", "paper: power"]
    table = []
    for method in dict.fromkeys(row["method"] for row in rows):
        here = {row["blocks"]: row for row in rows if row["method"] == method}
        power, paper = slope(list(here.values())), complexity.get(method, {})
        table.append(
            [
                method,
                f"{next(iter(here.values()))['samples']:,}",
                *(f"{here[size]['seconds']:.1f}" if size in here else "" for size in ends),
                "" if power is None else f"{power:.1f}",
                str(paper.get("time", "")),
                str(paper.get("power", "")),
            ]
        )
    return header, table


def draw_discovery_growth(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Seconds of one discovery against the number of variables, on logarithmic axes.

    >>> row = {"method": "cdl", "variables": 12, "seconds": 1.0, "samples": 2000}
    >>> len(draw_discovery_growth([row, {**row, "variables": 24}]).axes)
    1
    """
    figure = Figure(figsize=(5.2, 3.6), dpi=150, layout="constrained")
    axes = figure.subplots()
    # The slowest first, so that the legend is in the order of the lines.
    for method in dict.fromkeys(r["method"] for r in sorted(rows, key=lambda r: -r["seconds"])):
        here = sorted((r for r in rows if r["method"] == method), key=lambda r: r["variables"])
        x, y = (np.array([r[name] for r in here]) for name in ("variables", "seconds"))
        power = slope(here)
        label = f"{method}, {here[0]['samples']:,} samples"
        label += "" if power is None else f": slope {power:.1f}"
        axes.loglog(x, y, "o-", color=COLOURS.get(method), label=label, markersize=4)
    sizes = sorted({row["variables"] for row in rows})
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("variables", fontsize=8)
    axes.set_ylabel("seconds of one discovery", fontsize=8)
    axes.legend(fontsize=7, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7)
    return figure


def save_discovery_growth(path: str | Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the picture of `draw_discovery_growth` as a PNG file, whole or not at all."""
    buffer = io.BytesIO()
    draw_discovery_growth(rows).savefig(buffer, format="png")
    write_atomically(Path(path), buffer.getvalue())
