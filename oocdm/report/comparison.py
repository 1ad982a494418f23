"""Methods side by side: one row an environment, one column a method, the paper's in brackets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from oocdm.methods import METHODS

Cell = Mapping[str, Any]
Cells = Sequence[Cell]


def comparison_rows(
    table: str, cells: Cells, figures: Mapping[str, Any]
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table: graphs, aill, time or size.

    Environments stand as they come first among the cells. A star marks cells in which training
    ran out of time.

    >>> cell = {"env": "block2", "method": "cdl", "graph_accuracy": 0.9, "ran_out": False}
    >>> comparison_rows("graphs", [cell], {"graph_accuracy": {"block2": {"cdl": 99.4}}})[1]
    [['block2', '90.0 (99.4)']]
    """
    views: dict[str, dict[str, Callable[[Cell], float | None]]] = {
        "graphs": {"": _accuracy},
        "aill": {k: _value(f"aill_{k}") for k in ("train", "id", "ood")},
        "time": {"": _value("discovery_seconds")},
        "size": {"": _value("bytes")},
    }
    kinds = {"graphs": "graph_accuracy", "time": "discovery_seconds", "size": "bytes"}
    methods = sorted({cell["method"] for cell in cells}, key=lambda name: place(name, METHODS))
    rows = []
    for env in dict.fromkeys(cell["env"] for cell in cells):
        for data, value in views[table].items():
            paper = figures.get(kinds.get(table, table), {}).get(env, {})
            paper = paper.get(data, {}) if data else paper
            here = {m: [c for c in cells if (c["env"], c["method"]) == (env, m)] for m in methods}
            texts = [_text(here[m], value, paper.get(m), table) for m in methods]
            rows.append([f"{env}, {data}" if data else env, *texts])
    return ["environment", *methods], rows


def place(name: str, known: Iterable[str]) -> tuple[int, str]:
    """A key to sort names by: as they are known, others last by name.

    >>> sorted(["b", "a", "y", "x"], key=lambda name: place(name, ["x", "y"]))
    ['x', 'y', 'a', 'b']
    """
    order = list(known)
    return (order.index(name) if name in order else len(order), name)


def _accuracy(cell: Cell) -> float | None:
    """In per cent; None where the true graph is unknown."""
    share = cell["graph_accuracy"]
    return None if share is None else 100 * share


def _value(name: str) -> Callable[[Cell], float | None]:
    return lambda cell: cell.get(name)


def _text(
    cells: Cells, value: Callable[[Cell], float | None], paper: float | None, table: str
) -> str:
    found = [x for x in map(value, cells) if x is not None]
    if not found:
        return ""
    text = short(float(np.mean(found)))
    if len(found) > 1 and table in ("graphs", "aill"):
        text += f" ± {short(float(np.std(found, ddof=1)))}"
    if table in ("graphs", "aill") and any(cell.get("ran_out") for cell in cells):
        text += "*"
    return text if paper is None else f"{text} ({short(paper)})"


def short(value: float) -> str:
    """A number in few digits.

    >>> short(19.52), short(-5_300_000.0), short(319_700)
    ('19.5', '-5.3e+06', '319.7K')
    """
    if value >= 1e4:
        return f"{value / 1e6:.1f}M" if value >= 1e6 else f"{value / 1e3:.1f}K"
    return f"{value:.1f}" if abs(value) < 1e4 else f"{value:.1e}"
