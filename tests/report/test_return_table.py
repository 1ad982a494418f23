"""What agents earn, as rows of text."""

from __future__ import annotations

from typing import Any

import pytest

from oocdm.report import return_table as table

CELL: dict[str, Any] = {
    **{"agent": "oocdm", "kind": "ood", "seed": 3, "mean_return": 90.04, "standard_error": 2.06},
    **{"lengths": [300, 201], "ms_a_step": 249.6},
}


def test_returns_stand_beside_the_paper_s() -> None:
    assert table.returns_cells(CELL) == ["oocdm", "o.o.d.", "3", "90.0 ± 2.1", "75.1", "250", "250"]
    ours = table.returns_cells({**CELL, "agent": "random", "kind": "id", "standard_error": None})
    assert ours == ["random", "i.d.", "3", "90.0", "", "250", "250"]  # one episode has no error


def test_unseen_tasks_have_the_paper_s_figures_in_brackets() -> None:
    cell = {"agent": "oofull", "seed": 0, "aill_train": 30.0, "seen": CELL, "unseen": CELL}
    cell["unseen"] = {**CELL, "mean_return": 5.0, "ms_a_step": 10.0}
    assert table.unseen_cells(cell) == [
        *("oofull", "0", "30.0 (30.7)", "", ""),
        *("90.0 ± 2.1 (77.0)", "5.0 ± 2.1 (70.8)", "10"),
    ]


def test_times_of_planning() -> None:
    row = {"env": "mouse", "threads": 2, "fast_ms": 1234.5, "reference_ms": 24690.0, "ratio": 20.0}
    cells = table.planning_cells(row | {"same_actions": 1, "actions": 2})
    assert cells == ["mouse", "2", "1,234", "24,690", "20.0x", "1 of 2"]
    assert table.growth_cells({"objects": 13, "threads": 1, "ms": 4123.0}) == ["13", "1", "4,123"]


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (table.RETURNS, table.returns_cells(CELL)),
        (table.UNSEEN, table.unseen_cells({**CELL, "seen": CELL, "unseen": CELL})),
        (table.GROWTH, table.growth_cells({"objects": 13, "threads": 1, "ms": 4.0})),
    ],
)
def test_rows_are_as_long_as_their_header(header: list[str], row: list[str]) -> None:
    assert len(header) == len(row)
