"""Curves as rows of tables."""

from __future__ import annotations

from typing import Any

from oocdm.report.curves_rows import CURVES, beside_rows, curve_rows


def row(steps: int, wrong: int | None, aill: float | None, **more: Any) -> dict[str, Any]:
    ood = None if aill is None else aill - 2000
    return {"steps": steps, "wrong": wrong, "aill_id": aill, "aill_ood": ood, **more}


def ours(steps: int, wrong: int, seconds: float) -> dict[str, Any]:
    return row(steps, wrong, 3.0, wrong_trained=54, phase="learn", processor_seconds=seconds)


THEIRS = {
    "processor_seconds_a_step": 0.15,
    "curves": [
        {"seed": 7, "rows": [row(1000, 35, -5.5), row(6000, None, None, from_steps=5400)]},
        {"seed": 8, "rows": [row(2000, 11, 8.5)]},
    ],
}


def test_columns_stand_beside_each_other_at_the_same_steps() -> None:
    cell = {"preset": "paper", "seed": 0, "rows": [ours(1000, 9, 70.0), ours(6000, 2, 600.0)]}
    header, *rows = beside_rows([cell], THEIRS)
    assert header == ["steps", "theirs, seed 7", "theirs, seed 8", "ours, seed 0"]
    assert rows == [
        ["1,000", "35; -5.5 / -2005.5", "", "9 (54); 3.0 / -1997.0"],
        ["2,000", "", "11; 8.5 / -1991.5", ""],
        ["6,000 (theirs: 5,400 to 6,000)", "-; - / -", "", "2 (54); 3.0 / -1997.0"],
        ["processor s a step", "0.15", "0.15", "0.10"],
    ]


def test_a_curve_has_a_row_for_each_look() -> None:
    cell = {"preset": "default", "seed": 1, "rows": [ours(1200, 9, 70.0), ours(2000, 2, 600.0)]}
    rows = curve_rows(cell)
    assert [each[3] for each in rows] == ["1,200", "2,000"]
    assert {len(each) for each in rows} == {len(CURVES)}
