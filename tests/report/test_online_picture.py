"""The picture of online learning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image

from oocdm.report.online_picture import draw_online, save_online


def history(shift: float) -> dict[str, Any]:
    parts = [
        {"transitions": 50, "mean_return": None, "aill": None},
        {"transitions": 100, "mean_return": 2.0 + shift, "aill": None},
        {"transitions": 200, "mean_return": 3.0 + shift, "aill": 9.0},
    ]
    rounds = [
        {"transitions": 100, "added": ["A", "B"], "removed": []},
        {"transitions": 200, "added": ["C"], "removed": ["A", "B"]},
    ]
    return {"parts": parts, "rounds": rounds}


def test_lines_and_bars_are_those_of_the_history() -> None:
    returns, aills, changes = draw_online({"seed 0": history(0), "seed 1": history(1)}).axes
    lines = {str(line.get_label()): line.get_xydata().tolist() for line in returns.lines}
    assert lines["seed 0"] == [[100, 2.0], [200, 3.0]]
    assert lines["seed 1"] == [[100, 3.0], [200, 4.0]]
    assert {str(line.get_label()): line.get_xydata().tolist() for line in aills.lines}[
        "seed 0"
    ] == [[200, 9.0]]
    assert [bar.get_height() for bar in changes.patches] == [2, 1, 0, -2] * 2
    legend = returns.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["seed 0", "seed 1"]


def test_one_history_needs_no_legend(tmp_path: Path) -> None:
    assert draw_online({"online": history(0)}).axes[0].get_legend() is None
    save_online(tmp_path / "online.png", {"online": history(0)})
    with Image.open(tmp_path / "online.png") as picture:
        assert picture.format == "PNG"
