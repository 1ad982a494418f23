"""The picture of wrong shares and power."""

from __future__ import annotations

from pathlib import Path

from oocdm.report.calibration_picture import draw_calibration, save_calibration

ROW = {
    **{"false_discovery_rate": 0.02, "false_discovery_interval": [0.01, 0.05]},
    **{"power": 0.9, "power_interval": [0.8, 1.0]},
}
SUMMARY = {"0.1": {**ROW, "power": 0.7}, "automatic": ROW}


def test_each_rule_has_a_point_and_an_interval_in_both_panels(tmp_path: Path) -> None:
    left, right = draw_calibration(SUMMARY).axes
    drawn = [line.get_xydata().tolist() for line in right.lines]
    assert drawn == [[[0.8, 0], [1, 0]], [[0.7, 0]], [[0.8, 1], [1, 1]], [[0.9, 1]]]
    assert [label.get_text() for label in left.get_yticklabels()] == ["threshold 0.1", "automatic"]
    assert list(left.lines[-1].get_xdata()) == [0.05, 0.05]  # what is promised
    save_calibration(tmp_path / "picture.png", SUMMARY)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
