"""Lists of what a simulator's code reads, and how often each of it makes a difference."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

RARE = 0.02  # edges active in a smaller share of steps are only reported

Reads = list[tuple[str, str]]  # sources and where they are read: files with lines, "; " between


def each(who: str, names: str, where: str) -> Reads:
    """Several fields that are read at the same places.

    >>> each("self", "x y", "step.py:7")
    [('self.x', 'step.py:7'), ('self.y', 'step.py:7')]
    """
    return [(f"{who}.{name}", where) for name in names.split()]


def read_places(reads: Mapping[str, Reads]) -> dict[str, str]:
    """Where each edge is read, by edges as they are written.

    >>> read_places({"Ball.x": [("self.x", "step.py:7"), ("self.x", "step.py:9; step.py:7")]})
    {'Ball.x <- self.x': 'step.py:7; step.py:9'}
    """
    found: dict[str, dict[str, None]] = {}
    for target, sources in reads.items():
        for source, where in sources:
            places = found.setdefault(f"{target} <- {source}", {})
            places.update(dict.fromkeys(where.split("; ")))
    return {edge: "; ".join(places) for edge, places in found.items()}


@cache
def counted_activity(simulator: str) -> dict[str, Any]:
    """How often edges are active, as `count_activity` counted it before anything was fitted."""
    path = files("oocdm.bench.simulators").joinpath(f"{simulator}_activity.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def common_edges(simulator: str, reads: Mapping[str, Reads]) -> list[str]:
    """The edges of the list that are not rare: those that a graph has to hold.

    >>> common_edges("highway", {"Ego.x": each("self", "x y timer", "vehicle/kinematics.py:141")})
    ['Ego.x <- self.x', 'Ego.x <- self.y']
    """
    activity = counted_activity(simulator)["activity"]
    return [edge for edge in read_places(reads) if activity.get(edge, 0.0) >= RARE]
