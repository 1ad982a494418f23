"""All that a step of highway-env 1.12 reads, field by field, with file and line, written by hand.

A step is one frame: every car decides (`Road.act`) and then moves (`Road.step`). Cars decide one
after the other, so that one sees what an earlier one has just chosen. What is read but does not
show, because its effect is nearly 0 or needs something that hardly happens, is in the list too;
`highway_activity.json` tells how often each edge is active. Collisions are not in it: they end the
episode, and what they leave behind (`impact`, `crashed`) is not logged.
"""

from __future__ import annotations

from oocdm.bench.simulators.reads import Reads, each

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

# What a car's choice of a lane depends on. What follows from the lane follows from it, too, in
# the same frame.
_CHOICE: Reads = [
    *each("self", "lane x y heading", f"{_CLOSEST}; {_ABORT}"),
    *each("self", "timer", _TIMER),
    *each("self", "x y heading speed wanted delta", f"{_MOBIL}; {_IDM}; {_GAP}"),
    *(
        row
        for other in ("Car[*]", "Ego[*]")
        for row in (
            *each(other, "x y heading speed wanted", f"{_AHEAD}; {_MOBIL}; {_IDM}; {_GAP}"),
            *each(other, "lane", _ABORT),
        )
    ),
    *each("Car[*]", "timer delta", f"{_TIMER}; {_IDM}; {_ORDER}; {_ABORT}"),
    *each("Ego[*]", "action", f"{_COMMAND}; {_ORDER}; {_ABORT}"),
]
_STEERING = each("self", "x y heading speed lane", _STEER)
_EGO_LANE: Reads = [
    *each("self", "lane action", _COMMAND),
    *each("self", "x y", "road/lane.py:113-118"),
]

READS: dict[str, Reads] = {
    "Car.x": [*each("self", "x heading speed", _MOVE), *_STEERING, *_CHOICE],
    "Car.y": [*each("self", "y heading speed", _MOVE), *_STEERING, *_CHOICE],
    "Car.heading": [*each("self", "heading speed", _MOVE), *_STEERING, *_CHOICE],
    "Car.speed": [
        *each("self", "speed", f"{_MOVE}; {_LIMIT}"),
        *each("self", "speed wanted delta", _IDM),
        *each("self", "x y heading", f"{_AHEAD}; {_GAP}"),
        *each("self", "lane y heading", f"{_CLOSEST}; {_TARGET}"),
        *(
            row
            for other in ("Car[*]", "Ego[*]")
            for row in each(other, "x y heading speed", f"{_AHEAD}; {_GAP}")
        ),
        *_CHOICE,
    ],
    "Car.lane": _CHOICE,
    "Car.timer": [
        *each("self", "timer", _TIMER),
        *each("self", "lane x y heading", f"{_CLOSEST}; {_TIMER}"),
    ],
    "Ego.x": [*each("self", "x heading speed", _MOVE), *_STEERING, *_EGO_LANE],
    "Ego.y": [*each("self", "y heading speed", _MOVE), *_STEERING, *_EGO_LANE],
    "Ego.heading": [*each("self", "heading speed", _MOVE), *_STEERING, *_EGO_LANE],
    "Ego.speed": [
        *each("self", "speed", f"{_MOVE}; {_LIMIT}; {_FASTER}"),
        *each("self", "wanted speed", _CONTROL),
        *each("self", "action", _FASTER),
    ],
    "Ego.lane": _EGO_LANE,
    "Ego.wanted": each("self", "wanted action speed", _FASTER),
}
