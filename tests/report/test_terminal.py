"""Graphs and tables as text."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
from rich.console import Console, RenderableType

from oocdm.graph import ClassEdges, ClassGraph, Evidence, VariableEdges
from oocdm.inference.evaluate import Evaluation, FieldReport
from oocdm.online import Part, Round
from oocdm.planning import EpisodeResults
from oocdm.report.terminal import (
    episodes_table,
    evaluation_table,
    graph_text,
    growth_table,
    say_part,
    say_round,
    text_table,
)
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
    is_local = np.array([edge.is_local for edge in GRAPH.space.edges])
    score = np.where(GRAPH.mask & is_local, 1.234, np.nan)
    decision = np.where(GRAPH.mask, np.where(is_local, "yes", "required"), "no").astype(object)
    opened = next(i for i in range(8) if not GRAPH.mask[i])
    score[opened], decision[opened] = 0.04, "undecided"
    evidence = replace(
        Evidence.nothing(ClassEdges.of(SCHEMA)),
        score=score,
        low=score - 0.03,
        high=score + 0.03,
        decision=decision.astype(str),
    )
    assert shown(graph_text(GRAPH, evidence)) == [
        "Ball.x <- self.x (1.23 ± 0.03), self.v (1.23 ± 0.03)",
        "Ball.v <- Ball[*].v (required)",
        f"? {GRAPH.space.edges[opened]} (0.04 ± 0.03, open)",
    ]


def test_graph_of_variables_with_scores() -> None:
    class Ball(ObjectClass):
        x = Real()

    edges = VariableEdges(Schema(Ball), {"Ball": 2})
    score = np.array([1.234, 0.04, 0.05, np.nan])
    decision = np.array(["yes", "undecided", "undecided", "no"])
    share = np.clip(score, 0.0, 1.0)
    found = Evidence(edges, score, score - 0.03, score + 0.03, score, share, share, decision)
    assert shown(graph_text(found.graph, found)) == [
        "Ball[0].x <- Ball[0].x (1.23 ± 0.03)",
        "Ball[1].x <- (nothing)",
        "? Ball[0].x <- Ball[1].x (0.05 ± 0.03, open)",
        "? Ball[1].x <- Ball[0].x (0.04 ± 0.03, open)",
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


def test_episodes() -> None:
    many = EpisodeResults(np.array([1.0, 3.0]), np.array([10, 31]), 0.0123)
    one = EpisodeResults(np.array([-4.5]), np.array([300]), 1.5)
    head, _, *rows = shown(episodes_table({"learned model": many, "random policy": one}))
    found = [" ".join(row.split()) for row in (head, *rows)]
    assert found == [
        "acting with mean return steps an episode ms a step",
        "learned model 2.00 ± 1.00 20 (10 to 31) 12.3",
        "random policy -4.50 300 (300 to 300) 1500.0",
    ]


def test_many_changed_edges_are_counted() -> None:
    before = Round.of(1, 9, 9, {"a", "b"}, None, True, 0.0)
    done = Round.of(2, 18, 18, set("bcdefgh"), before, True, 0.0)
    assert say_round(done) == (
        "Round 2, learned from 18 transitions: 7 edges, + c, + d, + e, + f, + g, + h, and 1 more"
    )


def test_parts_without_whole_episodes_tell_the_reward() -> None:
    told = say_part(Part(1, 1500, 0, None, -0.5, None))
    assert told == "1,500 transitions: reward -0.50 a step, no model yet"
