"""The picture of a graph shows every edge where it belongs, and outlines the wrong ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from oocdm.errors import GraphError
from oocdm.graph import ClassEdges, ClassGraph, Evidence
from oocdm.report.adjacency import EDGE, EXTRA, MISSED, draw_adjacency, save_adjacency
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


class Wall(ObjectClass):
    height = Real(static=True)


SCHEMA = Schema(Ball, Wall)
TRUE = ClassGraph.parse(SCHEMA, ["Ball.x <- self.x, self.push, Wall[*].height"])
# Possible edges, in order: self.x, self.push, Ball[*].x, Ball[*].push, Wall[*].height.


def cells(axes: Axes, colour: str) -> list[tuple[float, float]]:
    """Corners of the cells with a face of some colour."""
    found = [p for p in axes.patches if isinstance(p, Rectangle) and p.get_fill()]
    return [p.get_xy() for p in found if to_hex(p.get_facecolor()) == colour]


def outlines(axes: Axes, colour: str) -> int:
    found = [p for p in axes.patches if isinstance(p, Rectangle) and not p.get_fill()]
    return sum(to_hex(p.get_edgecolor()) == colour for p in found)


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_rows_are_sources_and_columns_targets() -> None:
    (axes,) = draw_adjacency(TRUE).axes
    shown = texts(axes)
    rows = ["self.x", "self.push", "Ball[*].x", "Ball[*].push", "Wall[*].height"]
    assert [text for text in shown if text in rows] == rows
    assert [t for t in shown if ", " in t] == ["local, Ball", "global, Ball", "global, Wall"]
    assert "x'" in shown and "Ball" in shown
    first, second, third = (y for _, y in cells(axes, EDGE))
    assert (first, second) == (0, 1)
    assert third > 4


def test_scores_are_shades_with_numbers() -> None:
    evidence = replace(
        Evidence.nothing(ClassEdges.of(SCHEMA)),
        score=np.array([4.0, 0.5, np.nan, 0.01, 1.0]),
        low=np.array([3.9, 0.4, np.nan, 0.0, 0.8]),
        high=np.array([4.1, 0.6, np.nan, 0.02, 1.2]),
        decision=np.array(["yes", "yes", "untestable", "undecided", "yes"]),
    )
    (axes,) = draw_adjacency(TRUE, evidence).axes
    shown = texts(axes)
    numbers = ["4.0", "±.10", ".50", "±.10", "1.0", "±.20"]
    assert [text for text in shown if text[-1].isdigit()] == numbers
    assert "?" in shown
    assert cells(axes, EDGE) == [(0, 0)]  # the largest score has the darkest shade


def test_intervals_that_nobody_knows_are_not_shown() -> None:
    evidence = replace(
        Evidence.nothing(ClassEdges.of(SCHEMA)),
        score=np.array([4.0, 0.5, np.nan, 0.01, 1.0]),
        decision=np.array(["yes", "yes", "untestable", "no", "yes"]),
    )
    (axes,) = draw_adjacency(TRUE, evidence).axes
    shown = texts(axes)
    assert "4.0" in shown and not [text for text in shown if "nan" in text]


def test_wrong_edges_are_outlined() -> None:
    graph = ClassGraph.parse(SCHEMA, ["Ball.x <- self.x, Ball[*].x, Ball[*].push"])
    learned, true = draw_adjacency(graph, true=TRUE).axes
    assert (outlines(learned, EXTRA), outlines(learned, MISSED)) == (2, 2)
    assert (outlines(true, EXTRA), outlines(true, MISSED)) == (0, 0)
    assert "learned: 3 edges" in texts(learned)
    assert "true: 3 edges" in texts(true)


def test_scores_that_are_all_unknown_are_none() -> None:
    (axes,) = draw_adjacency(TRUE, Evidence.nothing(ClassEdges.of(SCHEMA))).axes
    assert len(cells(axes, EDGE)) == 3


def test_graphs_of_different_schemas_are_refused() -> None:
    other = ClassGraph.empty(Schema(Ball))
    with pytest.raises(GraphError, match=r"Cannot draw graphs of different schemas side by side"):
        draw_adjacency(TRUE, true=other)


def test_picture_is_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "graph.png"
    evidence = replace(Evidence.nothing(ClassEdges.of(SCHEMA)), score=np.full(5, 0.1))
    save_adjacency(path, ClassGraph(SCHEMA, ~np.array(TRUE.mask)), evidence, TRUE)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in path.parent.iterdir()] == ["graph.png"]
