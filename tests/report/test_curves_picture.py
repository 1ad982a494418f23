"""The picture of curves against steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oocdm.bench.figures import authors_curves
from oocdm.report.curves_picture import draw_curves, save_curves


def cell(preset: str, seed: int) -> dict[str, Any]:
    rows = [
        {"steps": steps, "wrong": 5, "aill_id": 20.0, "aill_ood": -170_000.0}
        for steps in (1000, 2000)
    ]
    return {"preset": preset, "seed": seed, "rows": rows}


def test_lines_are_seeds_and_what_was_not_read_is_left_out() -> None:
    theirs = authors_curves()["block5"]
    cells = [cell("paper", 0), cell("paper", 1), cell("default", 0)]
    left, right = draw_curves(cells, theirs).axes
    assert len(left.lines) == 3 + 3
    # The first seed has one reading less of wrong edges, and its last one is from 5,400 to 6,000.
    assert left.lines[0].get_xydata().tolist() == [[1000, 35], [2000, 14], [4000, 6], [5700, 3]]
    legend = left.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        *("authors' program", "ours, preset paper", "ours, preset default")
    ]
    legend = right.get_legend()
    assert legend is not None and len(legend.get_texts()) == 2 * 3


def test_thirty_and_minus_thousands_are_both_seen() -> None:
    axes = draw_curves([cell("paper", 0)], authors_curves()["block5"]).axes[1]
    low, high = axes.get_ylim()
    assert low < -170_000 and high > 20
    points = axes.transData.transform([(0, -2334), (0, -220), (0, 0), (0, 15)])[:, 1]
    height = axes.bbox.height
    assert min(points[1:] - points[:-1]) > height / 20


def test_it_is_written_as_a_file(tmp_path: Path) -> None:
    save_curves(tmp_path / "curves.png", [], authors_curves()["block5"])
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
