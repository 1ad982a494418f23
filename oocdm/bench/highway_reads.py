"""All that a step of highway-env 1.12 reads, field by field, with file and line, written by hand.

A step is one frame: every car decides (`Road.act`) and then moves (`Road.step`). Cars decide one
after the other, so that one sees what an earlier one has just chosen. What is read but does not
show, because its effect is nearly 0 or needs something that hardly happens, is in the list too;
`highway_activity.json` tells how often each edge is active. Collisions are not in it: they end the
episode, and what they leave behind (`impact`, `crashed`) is not logged.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

RARE = 0.02  # edges active in a smaller share of steps are only reported

_MOVE = "vehicle/kinematics.py:141-152"
_STEER = "vehicle/controller.py:157-183"
_CLOSEST = "road/road.py:66-71"  # the lane that it is on
_IDM = "vehicle/behavior.py:172-190; vehicle/objects.py:194-197"
_AHEAD = "road/road.py:499-546"  # who is ahead
_GAP = "vehicle/behavior.py:209-217; vehicle/kinematics.py:202-203; vehicle/objects.py:161-162"
_TARGET = "vehicle/behavior.py:122-131"  # who is ahead on the other lane
_TIMER = "vehicle/behavior.py:147,229,247-249"
_MOBIL = "vehicle/behavior.py:252-321"
_ABORT = "vehicle/behavior.py:229-243"
_ORDER = "road/road.py:466-467"  # one decides after the other
_COMMAND = "vehicle/controller.py:99-124"
_FASTER = "vehicle/controller.py:304-315"
_CONTROL = "vehicle/controller.py:198"
_LIMIT = "vehicle/kinematics.py:161-168"

Reads = list[tuple[str, str]]  # sources and where they are read


def _each(who: str, names: str, where: str) -> Reads:
    return [(f"{who}.{name}", where) for name in names.split()]


# What a car's choice of a lane depends on. What follows from the lane follows from it, too, in
# the same frame.
_CHOICE: Reads = [
    *_each("self", "lane x y heading", f"{_CLOSEST}; {_ABORT}"),
    *_each("self", "timer", _TIMER),
    *_each("self", "x y heading speed wanted delta", f"{_MOBIL}; {_IDM}; {_GAP}"),
    *(
        row
        for other in ("Car[*]", "Ego[*]")
        for row in (
            *_each(other, "x y heading speed wanted", f"{_AHEAD}; {_MOBIL}; {_IDM}; {_GAP}"),
            *_each(other, "lane", _ABORT),
        )
    ),
    *_each("Car[*]", "timer delta", f"{_TIMER}; {_IDM}; {_ORDER}; {_ABORT}"),
    *_each("Ego[*]", "action", f"{_COMMAND}; {_ORDER}; {_ABORT}"),
]
_STEERING = _each("self", "x y heading speed lane", _STEER)
_EGO_LANE: Reads = [
    *_each("self", "lane action", _COMMAND),
    *_each("self", "x y", "road/lane.py:113-118"),
]

_READS: dict[str, Reads] = {
    "Car.x": [*_each("self", "x heading speed", _MOVE), *_STEERING, *_CHOICE],
    "Car.y": [*_each("self", "y heading speed", _MOVE), *_STEERING, *_CHOICE],
    "Car.heading": [*_each("self", "heading speed", _MOVE), *_STEERING, *_CHOICE],
    "Car.speed": [
        *_each("self", "speed", f"{_MOVE}; {_LIMIT}"),
        *_each("self", "speed wanted delta", _IDM),
        *_each("self", "x y heading", f"{_AHEAD}; {_GAP}"),
        *_each("self", "lane y heading", f"{_CLOSEST}; {_TARGET}"),
        *(
            row
            for other in ("Car[*]", "Ego[*]")
            for row in _each(other, "x y heading speed", f"{_AHEAD}; {_GAP}")
        ),
        *_CHOICE,
    ],
    "Car.lane": _CHOICE,
    "Car.timer": [
        *_each("self", "timer", _TIMER),
        *_each("self", "lane x y heading", f"{_CLOSEST}; {_TIMER}"),
    ],
    "Ego.x": [*_each("self", "x heading speed", _MOVE), *_STEERING, *_EGO_LANE],
    "Ego.y": [*_each("self", "y heading speed", _MOVE), *_STEERING, *_EGO_LANE],
    "Ego.heading": [*_each("self", "heading speed", _MOVE), *_STEERING, *_EGO_LANE],
    "Ego.speed": [
        *_each("self", "speed", f"{_MOVE}; {_LIMIT}; {_FASTER}"),
        *_each("self", "wanted speed", _CONTROL),
        *_each("self", "action", _FASTER),
    ],
    "Ego.lane": _EGO_LANE,
    "Ego.wanted": _each("self", "wanted action speed", _FASTER),
}


def read_places() -> dict[str, str]:
    """Where each edge is read in the package highway_env, by edges as they are written.

    >>> read_places()["Ego.wanted <- self.action"]
    'vehicle/controller.py:304-315'
    """
    found: dict[str, dict[str, None]] = {}
    for target, reads in _READS.items():
        for source, where in reads:
            places = found.setdefault(f"{target} <- {source}", {})
            places.update(dict.fromkeys(where.split("; ")))
    return {edge: "; ".join(places) for edge, places in found.items()}


@cache
def counted_activity() -> dict[str, Any]:
    """How often edges are active, as `count_activity` counted it before anything was fitted."""
    text = files("oocdm.bench").joinpath("highway_activity.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def common_edges() -> list[str]:
    """The edges of the list that are not rare: those that a graph has to hold.

    >>> "Car.speed <- Car[*].speed" in common_edges()
    True
    """
    activity = counted_activity()["activity"]
    return [edge for edge in read_places() if activity.get(edge, 0.0) >= RARE]
