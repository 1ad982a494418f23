"""Rows of tables of generated worlds."""

from __future__ import annotations

from oocdm.bench.calibration_summary import summarise
from oocdm.report.calibration_rows import (
    FOUND,
    POWER,
    PREDICTED,
    found_cells,
    power_cells,
    predicted_cells,
)

EDGES = [
    {"is_true": True, "is_found": True, "worth": 0.5},
    {"is_true": False, "is_found": True},
    {"is_true": True, "is_found": False, "worth": 0.001},
]
FIELDS = {
    "id": {"A.x": {"nats_below": 0.0123, "coverage": 0.912}},
    "ood": {"A.x": {"nats_below": None, "coverage": None}},
}


def test_every_column_has_its_cell() -> None:
    world = {"edges": EDGES, "fields": FIELDS, "settled": True, "processor_seconds": 54.6}
    summary = summarise([world])
    assert dict(zip(FOUND, found_cells("forces", summary), strict=True)) == {
        "family": "forces",
        "worlds": "1",
        "wrong among found": "50.0 % [0.0, 100.0] (1 of 2)",
        "power from 0.02 nats": "100.0 % [20.7, 100.0]",
        "from 0.007 to 0.02": "",  # no edge is worth so much
        "exact": "0 %",
    }
    assert len(PREDICTED) == 7
    assert predicted_cells("forces", summary) == [
        *("forces", "0.012 / 0.012", "infinite / infinite", "91 %", "", "100 %", "55"),
    ]
    rows = [dict(zip(POWER, power_cells(level), strict=True)) for level in summary["curve"]]
    assert rows[1]["worth in nats"] == "0.001 to 0.003" and rows[1]["edges"] == "1"
    assert rows[-1]["worth in nats"] == "from 2"
