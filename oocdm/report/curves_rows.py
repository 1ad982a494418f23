"""Curves against steps as rows of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oocdm.report.comparison import short

Curve = Mapping[str, Any]

CURVES = [
    "preset", "seed", "phase", "steps", "wrong edges", "before", "AILL i.d.", "AILL o.o.d.",
    "processor s",
]  # fmt: skip


def curve_rows(cell: Curve) -> list[list[str]]:
    """A curve as text, one row for each look at it.

    >>> row = {"steps": 1000, "phase": "learn", "wrong": 9, "wrong_trained": 54, "aill_id": 1.5}
    >>> row |= {"aill_ood": -2.0, "processor_seconds": 70.2}
    >>> curve_rows({"preset": "paper", "seed": 0, "rows": [row]})
    [['paper', '0', 'learn', '1,000', '9', '54', '1.5', '-2.0', '70']]
    """
    return [
        [
            cell["preset"],
            str(cell["seed"]),
            row["phase"],
            f"{row['steps']:,}",
            str(row["wrong"]),
            str(row["wrong_trained"]),
            short(row["aill_id"]),
            short(row["aill_ood"]),
            f"{row['processor_seconds']:.0f}",
        ]
        for row in cell["rows"]
    ]


def beside_rows(cells: Sequence[Curve], authors: Mapping[str, Any]) -> list[list[str]]:
    """Header and rows of a table: the authors' curves, ours beside them, a column each.

    The last row has processor seconds a step. Without curves of ours there are theirs alone.

    >>> row = {"steps": 6000, "from_steps": 5400, "wrong": 3, "aill_id": 13.5, "aill_ood": None}
    >>> theirs = {"curves": [{"seed": 7, "rows": [row]}], "processor_seconds_a_step": 0.15}
    >>> for line in beside_rows([], theirs):
    ...     print(line)
    ['steps', 'theirs, seed 7']
    ['6,000 (theirs: 5,400 to 6,000)', '3; 13.5 / -']
    ['processor s a step', '0.15']
    """
    theirs = authors["curves"]
    header = ["steps", *(f"theirs, seed {curve['seed']}" for curve in theirs)]
    header += [f"ours, seed {cell['seed']}" for cell in cells]
    curves = [{row["steps"]: row for row in curve["rows"]} for curve in (*theirs, *cells)]
    labels = {row["steps"]: _label(row) for rows in reversed(curves) for row in rows.values()}
    costs = [authors["processor_seconds_a_step"]] * len(theirs)
    costs += [cell["rows"][-1]["processor_seconds"] / cell["rows"][-1]["steps"] for cell in cells]
    return [
        header,
        *([labels[n], *(_cell(rows.get(n)) for rows in curves)] for n in sorted(labels)),
        ["processor s a step", *(f"{cost:.2f}" for cost in costs)],
    ]


def _label(row: Curve) -> str:
    first, last = row.get("from_steps"), f"{row['steps']:,}"
    return last if first is None else f"{last} (theirs: {first:,} to {last})"


def _cell(row: Curve | None) -> str:
    """Wrong edges, in brackets those of the graph that it had trained with; AILL under that."""
    if row is None:
        return ""
    wrong = "-" if row["wrong"] is None else str(row["wrong"])
    wrong += f" ({row['wrong_trained']})" if "wrong_trained" in row else ""
    return f"{wrong}; {_nats(row['aill_id'])} / {_nats(row['aill_ood'])}"


def _nats(value: float | None) -> str:
    return "-" if value is None else short(value)
