"""Graphs over single variables: names, rows, files, and the class graphs that cover them."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.errors import GraphError
from oocdm.graph import ClassGraph, VariableEdge, VariableGraph
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


class Score(ObjectClass):
    points = Real()


SCHEMA = Schema(Ball, Score)
COUNTS = {"Ball": 2, "Score": 1}
FULL = ClassGraph.full(SCHEMA).ground(COUNTS)


@st.composite
def graphs(draw: st.DrawFn) -> VariableGraph:
    """Any edges between the variables of zero to three objects a class."""
    counts = {c: draw(st.integers(0, 3)) for c in SCHEMA.classes}
    full = ClassGraph.full(SCHEMA).ground(counts)
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    matrix = rng.random(full.matrix.shape) < draw(st.sampled_from([0.0, 0.1, 0.6, 1.0]))
    return VariableGraph(full.inputs, full.outputs, matrix)


@settings(max_examples=50)
@given(graphs())
def test_graphs_are_read_back_from_files_and_prints(graph: VariableGraph) -> None:
    assert VariableGraph.from_json(SCHEMA, json.loads(json.dumps(graph.to_json()))) == graph
    again = VariableGraph.parse(graph.inputs, graph.outputs, str(graph).splitlines())
    assert again == graph and hash(again) == hash(graph)


@settings(max_examples=50)
@given(graphs())
def test_the_covering_graph_is_the_smallest_one(graph: VariableGraph) -> None:
    cover = ClassGraph.covering(SCHEMA, graph)
    counts = {"Ball": 0, "Score": 0, **graph.counts}
    grounded = cover.ground(counts)
    assert (grounded.inputs, grounded.outputs) == (graph.inputs, graph.outputs)
    assert not (graph.matrix & ~grounded.matrix).any()
    for edge in cover.edges():
        assert (graph.matrix & ~cover.without(edge).ground(counts).matrix).any()


@settings(max_examples=30)
@given(st.integers(0, 99))
def test_a_class_graph_covers_its_grounding(seed: int) -> None:
    graph = ClassGraph.random(SCHEMA, 0.5, np.random.default_rng(seed))
    graph = ClassGraph(SCHEMA, graph.mask & graph.space.testable(COUNTS))
    assert ClassGraph.covering(SCHEMA, graph.ground(COUNTS)) == graph


def test_print_counts_and_edges() -> None:
    rows = [
        "Ball[0].x <- Ball[0].x, Ball[0].push",
        "Ball[1].x <- (nothing)",
        "Score[0].points <- Ball[1].x",
    ]
    graph = VariableGraph.parse(FULL.inputs, FULL.outputs, rows)
    assert str(graph).splitlines() == rows
    assert repr(graph) == "VariableGraph(3 of 15 edges)"
    assert graph.counts == COUNTS
    assert graph.edges()[-1] == VariableEdge("Ball[1].x", "Score[0].points")
    assert graph != FULL and graph.matrix.sum() == 3
    assert VariableGraph((), (), np.zeros((0, 0))).counts == {}


def test_a_class_graph_is_compared_as_it_would_be_grounded() -> None:
    rows = ["Ball[0].x <- Ball[0].x", "Ball[1].x <- Ball[0].x", "Score[0].points <- Ball[1].x"]
    graph = VariableGraph.parse(FULL.inputs, FULL.outputs, rows)
    true = ClassGraph.parse(SCHEMA, ["Ball.x <- self.x", "Score.points <- Ball[*].x"])
    found = graph.compare(true)
    assert found == graph.compare(true.ground(COUNTS))
    assert (found.missing, found.extra) == (2, 1)
    # A class may have no object.
    lonely = true.ground({"Ball": 2, "Score": 0})
    assert lonely.compare(true).shd == 0
    with fails(
        "Expected and got variable graphs over different variables: only one has `Ball[0].push`."
    ):
        graph.compare(ClassGraph.full(Schema(Score)))


def test_a_graph_cannot_be_written() -> None:
    matrix = np.ones((1, 1), dtype=bool)
    graph = VariableGraph(("Ball[0].x",), ("Ball[0].x",), matrix)
    with pytest.raises(ValueError, match="read-only"):
        graph.matrix[0, 0] = False
    matrix[0, 0] = False
    assert graph.matrix.all()


# ---------------------------------------------------------------- errors


def fails(message: str) -> Any:
    return pytest.raises(GraphError, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize("name", ["Ball.x", "Ball[*].x", "Ball[0]x", "Ball[-1].x", "Ball[0].x.y"])
def test_errors_of_names(name: str) -> None:
    with fails(f"Variable `{name}`: expected the form `Block[0].s1`."):
        VariableGraph((name,), (), np.zeros((1, 0)))


def test_errors_of_rows() -> None:
    with fails("Graph row 'Ball[0].x': expected the form `Ball[1].x <- Ball[0].x, Ball[1].x`."):
        VariableGraph.parse(FULL.inputs, FULL.outputs, ["Ball[0].x"])
    for row in ("Ball[2].x <- Ball[0].x", "Ball[0].x <- Ball[2].x"):
        with pytest.raises(GraphError, match=r"^Unknown variable `Ball\[2\]\.x`. Did you mean"):
            VariableGraph.parse(FULL.inputs, FULL.outputs, [row])


def test_errors_of_shapes_and_files() -> None:
    with fails("VariableGraph.matrix: expected shape (5, 3), inputs by outputs, got (3, 5)."):
        VariableGraph(FULL.inputs, FULL.outputs, FULL.matrix.T)
    with fails("VariableGraph.inputs: expected different variables, got Ball[0].x twice."):
        VariableGraph(("Ball[0].x",) * 2, (), np.zeros((2, 0)))
    with fails(
        'Variable graph: expected a JSON object with lists under the keys "inputs", "outputs" '
        'and "edges".'
    ):
        VariableGraph.from_json(SCHEMA, {"edges": []})


def test_errors_of_comparing() -> None:
    with fails("Expected a graph between variables or between classes, got str."):
        FULL.compare("Ball.x <- self.x")  # type: ignore[arg-type]


def test_errors_of_covering() -> None:
    with fails(
        "Variable `Score[0].points` is not of this schema. Unknown class `Score`. Known: Ball."
    ):
        ClassGraph.covering(Schema(Ball), FULL)
    to_action = VariableGraph(("Ball[0].x",), ("Ball[0].push",), np.ones((1, 1)))
    with fails(
        "Edge `Ball.push <- self.x`: `Ball.push` is a field with the role action; "
        "only state fields have causes."
    ):
        ClassGraph.covering(SCHEMA, to_action)
