"""Methods side by side, and pictures of variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from oocdm.graph import ClassGraph, Evidence, VariableEdges
from oocdm.report.adjacency import save_adjacency
from oocdm.report.comparison import comparison_rows
from oocdm.report.discovery_growth import draw_discovery_growth, slope
from oocdm.report.variable_adjacency import EXTRA, MISSED, PRESENT, draw_variables
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()


EDGES = VariableEdges(Schema(Ball), {"Ball": 2})
TRUE = ClassGraph.parse(Schema(Ball), ["Ball.x <- self.x"])


def cell(method: str, seed: int, **figures: Any) -> dict[str, Any]:
    return {"env": "block2", "method": method, "seed": seed, "ran_out": False, **figures}


def test_means_spreads_and_the_paper_s() -> None:
    cells = [
        cell("cdl", 0, graph_accuracy=0.9, aill_train=1.0, aill_id=-2e6, aill_ood=3.0),
        cell("cdl", 1, graph_accuracy=0.94, aill_train=3.0, aill_id=-4e6, aill_ood=3.0)
        | {"ran_out": True},
        cell("mlp", 0, graph_accuracy=0.2, aill_train=5.0, aill_id=5.0, aill_ood=5.0),
    ]
    paper = {"graph_accuracy": {"block2": {"cdl": 99.4}}, "aill": {"block2": {"id": {"mlp": 10.1}}}}
    header, rows = comparison_rows("graphs", cells, paper)
    assert header == ["environment", "cdl", "mlp"]
    assert rows == [["block2", "92.0 ± 2.8* (99.4)", "20.0"]]
    _, rows = comparison_rows("aill", cells, paper)
    assert [row[0] for row in rows] == ["block2, train", "block2, id", "block2, ood"]
    assert rows[1][1:] == ["-3.0e+06 ± 1.4M*", "5.0 (10.1)"]


def test_sizes_have_no_spread() -> None:
    cells = [cell("cdl", seed, bytes=291_700) for seed in range(2)]
    assert comparison_rows("size", cells, {"bytes": {"block2": {"cdl": 319_700}}})[1] == [
        ["block2", "291.7K (319.7K)"]
    ]


def test_variables_against_the_true_graph(tmp_path: Path) -> None:
    graph = EDGES.graph(np.array([True, True, False, False]))
    (axes,) = draw_variables(graph, true=TRUE).axes
    shown = np.asarray(axes.images[0].get_array())
    assert shown.tolist() == [[PRESENT, EXTRA], [0, MISSED]]
    score = np.array([2.0, 1.0, 0.0, np.nan])
    evidence = Evidence(EDGES, score, *[score] * 3, score, np.array(["yes", "yes", "no", "no"]))
    assert len(draw_variables(graph, evidence, TRUE).axes) == 3  # with scores and their scale
    save_adjacency(tmp_path / "graph.png", graph, evidence, TRUE)
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")


def legend(rows: list[dict[str, Any]]) -> list[str]:
    (axes,) = draw_discovery_growth(rows).axes
    found = axes.get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def test_slopes_are_in_the_legend() -> None:
    rows = [
        {"method": "cdl", "variables": n, "seconds": n**2.5, "samples": 2000} for n in (8, 16, 32)
    ]
    assert legend(rows) == ["cdl, 2,000 samples: slope 2.5"]


def test_one_size_has_no_slope() -> None:
    row = {"method": "cdl", "variables": 8, "seconds": 1.0, "samples": 2000}
    assert slope([row]) is None
    assert slope([row, row]) is None
    assert legend([row]) == ["cdl, 2,000 samples"]
