"""Graphs and tables as text."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType

from oocdm.graph import ClassGraph
from oocdm.inference.evaluate import Evaluation, FieldReport
from oocdm.report.terminal import evaluation_table, graph_text, growth_table, text_table
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()
    v = Real()


SCHEMA = Schema(Ball)
GRAPH = ClassGraph.parse(SCHEMA, ["Ball.x <- self.x, self.v", "Ball.v <- Ball[*].v"])


def shown(content: RenderableType) -> list[str]:
    console = Console(file=io.StringIO(), width=100, markup=False)
    console.print(content)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.strip() for line in text.splitlines()]


def test_graph_prints_as_it_does_everywhere() -> None:
    assert str(graph_text(GRAPH)) == str(GRAPH)
    assert str(graph_text(ClassGraph.empty(SCHEMA))) == str(ClassGraph.empty(SCHEMA))


def test_graph_with_scores() -> None:
    scores: list[float | None] = [None] * 8
    for i, edge in enumerate(GRAPH.index.edges):
        if edge in GRAPH and edge.is_local:
            scores[i] = 1.234
    assert shown(graph_text(GRAPH, scores)) == [
        "Ball.x <- self.x (1.23), self.v (1.23)",
        "Ball.v <- Ball[*].v",
    ]


def test_graph_marked_against_the_true_one() -> None:
    true = ClassGraph.parse(SCHEMA, ["Ball.x <- self.x, self.v", "Ball.v <- self.v"])
    text = graph_text(GRAPH, true=true)
    assert str(text).splitlines() == [
        "✓ Ball.x <- self.x, self.v",
        "✗ Ball.v <- self.v (missed), Ball[*].v (wrong)",
    ]
    styles = {str(text)[span.start : span.end].strip(): str(span.style) for span in text.spans}
    assert styles["✓"] == "green"
    assert styles["Ball[*].v"] == "bold red"


def test_evaluation() -> None:
    fields = {
        "Ball.x": FieldReport(-1.5, 0.25, None, 0.9, 10),
        "Ball.v": FieldReport(-0.5, None, 0.75, None, 10),
    }
    rows = shown(evaluation_table(Evaluation(-2.0, fields, 10)))
    assert rows[2].split() == ["Ball.x", "-1.500", "0.25", "0.900"]
    assert rows[3].split() == ["Ball.v", "-0.500", "0.7500"]


def test_tables_without_rows() -> None:
    assert text_table(["name"], []).row_count == 0
    assert growth_table([]).row_count == 0
