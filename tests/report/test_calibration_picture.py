"""The picture of errors, power and coverage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oocdm.report.calibration_picture import draw_calibration, save_calibration

ROW: dict[str, Any] = {
    "wrong_share": 0.02,
    "wrong_interval": [0.01, 0.05],
    "id": {"coverage": 0.9},
    "ood": {"coverage": 0.7},
}
CURVE = [
    {"worth": 0.0, "share": 0.1, "interval": [0.0, 0.3]},
    {"worth": None, "share": None, "interval": [0.0, 1.0]},  # no edge is worth so much
    {"worth": 0.1, "share": 0.9, "interval": [0.8, 1.0]},
]
SUMMARY = {"weak": {**ROW, "ood": {"coverage": None}}, "all": {**ROW, "curve": CURVE}}


def test_families_have_errors_and_coverage_and_all_have_their_power(tmp_path: Path) -> None:
    left, middle, right = draw_calibration(SUMMARY).axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["weak", "all"]
    assert [line.get_xydata().tolist() for line in left.lines[:2]] == [
        [[0.01, 0], [0.05, 0]],
        [[0.02, 0]],
    ]
    assert list(left.lines[-1].get_xdata()) == [0.05, 0.05]  # what is promised
    assert [line.get_xydata().tolist() for line in middle.lines] == [
        [[5e-4, 0.0], [5e-4, 0.3]],
        [[5e-4, 0.1]],
        [[0.1, 0.8], [0.1, 1.0]],
        [[0.1, 0.9]],
    ]
    assert [line.get_xydata().tolist() for line in right.lines[:-1]] == [
        [[0.9, 0]],
        [[0.9, 1]],
        [[0.7, 1]],
    ]
    save_calibration(tmp_path / "picture.png", SUMMARY)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
