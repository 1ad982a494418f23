"""Attributes that people name, and where they stand."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.learned.attributes import Attribute
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


SCHEMA = Schema(Ball)
# Three worlds, the last with one ball only.
STATE = Snapshot.of(
    SCHEMA,
    {"Ball": {"x": torch.zeros(3, 2)}},
    {"Ball": torch.tensor([[True, True], [True, True], [True, False]])},
)


def fails(message: str) -> Any:
    return pytest.raises(PlanError, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize("name", ["Ball[12].x", "Ball[*].x"])
def test_names_are_read_as_they_are_written(name: str) -> None:
    attribute = Attribute.parse("do", SCHEMA, name)
    assert str(attribute) == name
    assert attribute.object == (None if "*" in name else 12)


@pytest.mark.parametrize(
    ("name", "worlds", "places"),
    [
        ("Ball[0].x", None, [[1, 0], [1, 0], [1, 0]]),
        ("Ball[1].x", [1], [[0, 0], [0, 1], [0, 0]]),
        ("Ball[*].x", None, [[1, 1], [1, 1], [1, 0]]),
        ("Ball[*].x", [2, 0], [[1, 1], [0, 0], [1, 0]]),
    ],
)
def test_places(name: str, worlds: list[int] | None, places: list[list[int]]) -> None:
    attribute = Attribute.parse("do", SCHEMA, name)
    assert attribute.places("do", STATE, worlds).int().tolist() == places


def test_an_object_must_be_in_every_world_that_is_meant() -> None:
    attribute = Attribute.parse("do", SCHEMA, "Ball[1].x")
    with fails(
        "do `Ball[1].x`: expected one of the 1 objects of world 2 (Ball[0] to [0]), got number 1. "
        "Objects are counted from 0."
    ):
        attribute.places("do", STATE, None)


@pytest.mark.parametrize("worlds", [[3], [-1], [], [0.5], 1, [True]])
def test_worlds_are_numbers(worlds: Any) -> None:
    with fails(
        f"undo `Ball[0].x`: `worlds`: expected numbers of worlds from 0 to 2, got {worlds!r}."
    ):
        Attribute.parse("undo", SCHEMA, "Ball[0].x").places("undo", STATE, worlds)


def test_what_is_no_attribute() -> None:
    with fails(
        "do: expected an attribute such as `Ball[0].x`, or `Ball[*].x` for all objects, got 3."
    ):
        Attribute.parse("do", SCHEMA, 3)  # type: ignore[arg-type]
    with fails(
        "do `Ball[0].push`: expected a state or static field, got an action. Choose it in "
        "step(action)."
    ):
        Attribute.parse("do", SCHEMA, "Ball[0].push")
    with fails("do `Bal[0].x`: Unknown class `Bal`. Did you mean `Ball`? Known: Ball."):
        Attribute.parse("do", SCHEMA, "Bal[0].x")
