"""Single edges, and the rows that they are read from."""

from __future__ import annotations

import re
from typing import Any

import pytest

from oocdm.errors import GraphError
from oocdm.graph import Edge, Variable, VariableEdge


def fails(message: str) -> Any:
    return pytest.raises(GraphError, match=f"^{re.escape(message)}$")


def test_errors_of_rows() -> None:
    form = "expected the form `Total.s1 <- self.s1, Block[*].s1`."
    for row in ("Total.s1", "Total <- self.s1", "", "Total.s1 -> self.s1"):
        with fails(f"Graph row {row!r}: {form}"):
            Edge.parse_row(row)
    for source in ("Block.s1", "s1", "Block[0].s1", "self"):
        with fails(
            f"Graph row 'Total.s1 <- {source}': expected `self.field` or `Class[*].field`, "
            f"got `{source}`."
        ):
            Edge.parse_row(f"Total.s1 <- {source}")


def test_rows_of_variables() -> None:
    with fails("Graph row 'Ball[0].x': expected the form `Ball[1].x <- Ball[0].x, Ball[1].x`."):
        VariableEdge.parse_row("Ball[0].x")
    assert VariableEdge.parse_row("Ball[0].x <- (nothing)") == []


def test_a_variable_edge_answers_as_a_class_edge_does() -> None:
    own, other = VariableEdge.parse_row("Ball[1].x <- Ball[1].v, Ball[0].v")
    assert (own.is_local, other.is_local) == (True, False)
    assert str(other) == "Ball[1].x <- Ball[0].v"
    assert (other.source, other.cause, other.target) == ("Ball[0].v", "Ball[0].v", "Ball[1].x")
    edge = Edge("Ball", "v", "Ball", "x", is_local=False)
    assert (edge.source, edge.cause, edge.target) == ("Ball[*].v", "Ball.v", "Ball.x")
    assert Edge.between(Variable.parse(other.source), Variable.parse(other.target)) == edge
    assert Edge.between(Variable.parse(own.source), Variable.parse(own.target)).is_local
    assert len({own, other, VariableEdge("Ball[1].v", "Ball[1].x")}) == 2
