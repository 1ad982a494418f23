"""Rows of tables of other people's simulators."""

from __future__ import annotations

from oocdm.report.logs_rows import GRAPHS, ROLLOUTS, SLOWED, graph_cells, rollout_rows, slowed_cells

ERRORS = {
    **{"model": 0.1234, "persistence": 12.0, "velocity": 0.2},
    **{"over_persistence": [-13.0, -11.0], "over_velocity": [-0.1, 0.02]},
}
CELL = {
    **{"env": "highway", "seed": 2, "common": 30, "missed": ["a", "b"], "unlisted": ["c"]},
    **{"jaccard": None, "settled": False, "processor_seconds": 100.4},
    "rollouts": {"Car.x": ERRORS},
    "slowed": {"cases": 0},
}


def test_every_column_has_its_cell() -> None:
    assert dict(zip(GRAPHS, graph_cells(CELL), strict=True))["held"] == "28 of 30"
    assert graph_cells(CELL)[3:] == ["a, b", "c", "", "no", "100"]
    (row,) = rollout_rows([CELL])
    assert dict(zip(ROLLOUTS, row, strict=True))["velocity"] == "0.2 [-0.1, 0.02]"
    assert dict(zip(SLOWED, slowed_cells(CELL), strict=True))["cases"] == "0"
