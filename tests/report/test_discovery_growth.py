"""The growth of times of discovery."""

from __future__ import annotations

from typing import Any

from oocdm.report.discovery_growth import draw_discovery_growth, slope


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
