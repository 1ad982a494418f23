"""What is read of the objects of a step."""

from __future__ import annotations

from oocdm.worlds.read_objects import ObjectsReader
from tests.worlds.harbours import SCHEMA


def test_values_are_read_as_fields_hold_them() -> None:
    reader = ObjectsReader(SCHEMA, actions=False)
    boat = {"place": (1, 2), "empty": True, "kind": "steam"}
    cells = reader.read({"Boat": {"bull": boat}, "Tug": {}})
    assert reader.problems == []
    found = cells["Boat", "bull"]
    assert {f: v.tolist() for f, v in found.items() if v is not None} == {
        "place": [1.0, 2.0],
        "empty": 1,
        "kind": 1,
    }


def test_only_classes_with_actions_must_act() -> None:
    reader = ObjectsReader(SCHEMA, actions=True)
    assert reader.read({"Tug": {7: {"pull": None}}}, {("Tug", 7), ("Boat", "bull")}) == {
        ("Tug", 7): {"pull": None}
    }
    assert reader.problems == []
    reader.read({}, {("Tug", 7), ("Tug", 8), ("Boat", "bull")})
    assert len(reader.problems) == 2
