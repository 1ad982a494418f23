"""Names of single variables."""

from __future__ import annotations

import re
from typing import Any

import pytest

from oocdm.errors import GraphError
from oocdm.graph import Variable
from oocdm.graph.variable import variable_names
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


class Score(ObjectClass):
    points = Real()


SCHEMA = Schema(Ball, Score)


def fails(message: str) -> Any:
    return pytest.raises(GraphError, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize("name", ["Ball.x", "Ball[*].x", "Ball[0]x", "Ball[-1].x", "Ball[0].x.y"])
def test_what_is_no_name(name: str) -> None:
    with fails(f"Variable `{name}`: expected the form `Block[0].s1`."):
        Variable.parse(name)


def test_names_are_read_as_they_are_written() -> None:
    assert Variable.parse("Ball[12].x") == ("Ball", 12, "x")
    assert str(Variable.of(SCHEMA, "Ball[12].push")) == "Ball[12].push"


def test_variables_are_of_a_schema() -> None:
    with fails(
        "Variable `Bal[0].x` is not of this schema. Unknown class `Bal`. Did you mean `Ball`? "
        "Known: Ball, Score."
    ):
        Variable.of(SCHEMA, "Bal[0].x")
    with fails(
        "Variable `Ball[0].y` is not of this schema. Unknown field `Ball.y`. Known: x, push."
    ):
        Variable.of(SCHEMA, "Ball[0].y")


def test_all_variables_stand_object_by_object() -> None:
    inputs, outputs = variable_names(SCHEMA, {"Ball": 2, "Score": 0})
    assert inputs == ("Ball[0].x", "Ball[0].push", "Ball[1].x", "Ball[1].push")
    assert outputs == ("Ball[0].x", "Ball[1].x")  # nothing causes an action
