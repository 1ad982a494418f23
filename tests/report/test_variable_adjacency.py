"""Pictures of graphs between variables."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from oocdm.graph import ClassGraph, Evidence, VariableEdges
from oocdm.report.adjacency import save_adjacency
from oocdm.report.variable_adjacency import EXTRA, MISSED, PRESENT, draw_variables
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()


EDGES = VariableEdges(Schema(Ball), {"Ball": 2})


TRUE = ClassGraph.parse(Schema(Ball), ["Ball.x <- self.x"])


def test_variables_against_the_true_graph(tmp_path: Path) -> None:
    graph = EDGES.graph(np.array([True, True, False, False]))
    (axes,) = draw_variables(graph, true=TRUE).axes
    shown = np.asarray(axes.images[0].get_array())
    assert shown.tolist() == [[PRESENT, EXTRA], [0, MISSED]]
    score = np.array([1.0, 0.5, 0.0, np.nan])
    evidence = Evidence(EDGES, score, *[score] * 5, np.array(["yes", "yes", "no", "no"]))
    assert len(draw_variables(graph, evidence, TRUE).axes) == 3  # with scores and their scale
    save_adjacency(tmp_path / "graph.png", graph, evidence, TRUE)
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")


def test_lines_stand_between_objects() -> None:
    (axes,) = draw_variables(EDGES.full).axes
    assert [line.get_xydata()[0].tolist() for line in axes.lines] == [[0.0, 0.5], [0.5, 0.0]]
    assert axes.get_title() == "4 edges"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["Ball[0].x", "Ball[1].x"]


def test_only_what_is_there_is_in_the_legend() -> None:
    graph = EDGES.graph(np.array([True, True, False, True]))
    figure = draw_variables(graph, true=TRUE)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["edge", "wrong edge"]
    assert draw_variables(graph).legends == []
