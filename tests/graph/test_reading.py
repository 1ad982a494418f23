"""Graphs of either kind, as earlier versions wrote them."""

from __future__ import annotations

import pytest

from oocdm.errors import GraphError
from oocdm.graph import ClassGraph, VariableGraph, graph_from_json, graph_from_rows
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


SCHEMA = Schema(Ball)


def test_json_as_it_was_always_written() -> None:
    known = {"edges": ["Ball.x <- self.x", "Ball.x <- Ball[*].push"]}
    graph = graph_from_json(SCHEMA, known)
    assert isinstance(graph, ClassGraph) and graph.to_json() == known
    known = {
        "inputs": ["Ball[0].x", "Ball[0].push", "Ball[1].x", "Ball[1].push"],
        "outputs": ["Ball[0].x", "Ball[1].x"],
        "edges": [
            *("Ball[0].x <- Ball[0].x", "Ball[0].x <- Ball[1].x"),
            "Ball[1].x <- Ball[0].push",
        ],
    }
    grounded = graph_from_json(SCHEMA, known)
    assert isinstance(grounded, VariableGraph) and grounded.to_json() == known


def test_variables_of_another_schema_are_refused() -> None:
    data = {"inputs": ["Cube[0].x"], "outputs": [], "edges": []}
    with pytest.raises(GraphError, match=r"^Variable `Cube\[0\]\.x` is not of this schema\."):
        graph_from_json(SCHEMA, data)


def test_rows_of_either_kind() -> None:
    of_variables = graph_from_rows(SCHEMA, ["Ball[1].x <- Ball[0].push"], {"Ball": 2})
    assert of_variables.parents("Ball[1].x") == ["Ball[0].push"]
    assert graph_from_rows(SCHEMA, [], {"Ball": 2}) == ClassGraph.empty(SCHEMA)
