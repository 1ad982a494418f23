"""Methods side by side."""

from __future__ import annotations

from typing import Any

from oocdm.report.comparison import comparison_rows


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
