"""What fits of generated worlds say, as rows of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FOUND = [
    "family", "worlds", "wrong among found", "power from 0.02 nats", "from 0.007 to 0.02", "exact",
]  # fmt: skip
PREDICTED = [
    "family", "nats below i.d.", "o.o.d.", "coverage i.d.", "o.o.d.", "settled", "seconds",
]  # fmt: skip
PLACES = ("id", "ood")
POWER = ["worth in nats", "edges", "found"]


def found_cells(name: str, row: Mapping[str, Any]) -> list[str]:
    """What was found in a family as text, intervals in brackets.

    >>> row = {"worlds": 4, "wrong_share": 0.02, "wrong_interval": [0, 0.05], "exact": 0.5}
    >>> row |= {"wrong": 1, "found": 50, "power": [{"share": 0.9, "interval": [0.8, 1.0]}]}
    >>> print(*found_cells("forces", row), sep="; ")
    forces; 4; 2.0 % [0.0, 5.0] (1 of 50); 90.0 % [80.0, 100.0]; 50 %
    """
    wrong = _share(row["wrong_share"], row["wrong_interval"])
    return [
        name,
        str(row["worlds"]),
        f"{wrong} ({row['wrong']} of {row['found']})",
        *(_share(level["share"], level["interval"]) for level in row["power"]),
        _percent(row["exact"]),
    ]


def predicted_cells(name: str, row: Mapping[str, Any]) -> list[str]:
    """How well a family was predicted as text, nats as median / 95th percentile.

    >>> nats = {"median": 0.012, "tail": None, "coverage": 0.91}
    >>> row = {"id": nats, "ood": nats, "settled": None, "processor_seconds": {"median": 55.2}}
    >>> print(*predicted_cells("forces", row), sep="; ")
    forces; 0.012 / infinite; 0.012 / infinite; 91 %; 91 %; ; 55
    """
    return [
        name,
        *(f"{_nats(row[place]['median'])} / {_nats(row[place]['tail'])}" for place in PLACES),
        *(_percent(row[place]["coverage"]) for place in PLACES),
        _percent(row["settled"]),
        f"{row['processor_seconds']['median']:.0f}",
    ]


def power_cells(row: Mapping[str, Any]) -> list[str]:
    """One class of worths as text.

    >>> power_cells({"low": 1, "high": None, "edges": 9, "share": 1.0, "interval": [0.7, 1.0]})
    ['from 1', '9', '100.0 % [70.0, 100.0]']
    """
    worth = f"{row['low']:g} to {row['high']:g}" if row["high"] else f"from {row['low']:g}"
    return [worth, str(row["edges"]), _share(row["share"], row["interval"])]


def _share(value: float | None, interval: list[float]) -> str:
    low, high = interval
    return "" if value is None else f"{100 * value:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def _nats(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.3f}"
