"""The picture of wrong edges as data grow."""

from __future__ import annotations

from oocdm.report.samples_picture import draw_samples


def row(env: str, transitions: int, automatic: int, fixed: int) -> dict[str, object]:
    wrong = {"automatic": automatic, "0.1": fixed}
    return {"env": env, "transitions": transitions, "wrong": wrong}


def test_lines_are_means_over_seeds_and_points_single_fits() -> None:
    rows = [row("block2", 5000, 1, 2), row("block2", 500, 3, 9), row("block2", 500, 5, 7)]
    left, right = draw_samples([*rows, row("mouse", 500, 0, 1)]).axes
    assert left.get_title() == "block2: wrong class edges"
    legend = left.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["threshold 0.1", "automatic"]
    lines = {str(line.get_label()): line.get_xydata().tolist() for line in left.lines}
    assert lines["automatic"] == [[500, 4], [5000, 1]]
    assert lines["threshold 0.1"] == [[500, 8], [5000, 2]]
    assert [[500, 3], [500, 5]] in [line.get_xydata().tolist() for line in left.lines]
    assert right.get_legend() is None
