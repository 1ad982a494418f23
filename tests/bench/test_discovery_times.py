"""Times of discovery: what is timed, kept and reckoned."""

from __future__ import annotations

from pathlib import Path

import pytest

from oocdm.bench import discovery_times
from oocdm.bench.discovery_times import METHODS, discovery_time, run_discovery_growth
from oocdm.bench.figures import paper_figures
from oocdm.bench.paper import run_times
from oocdm.report.comparison import comparison_rows


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few samples, and few tests of them."""
    for name, number in (("GROWTH_SAMPLES", 60), ("GRADER_SAMPLES", 60), ("MOST_TESTS", 4)):
        monkeypatch.setattr(discovery_times, name, number)


def test_growth_of_every_method(tmp_path: Path) -> None:
    told: list[str] = []
    found = run_discovery_growth(tmp_path, lambda *said: told.append(said[0]), blocks=[1, 2])
    rows = found["rows"]
    assert [(r["method"], r["blocks"]) for r in rows] == [(m, b) for b in (1, 2) for m in METHODS]
    assert all(row["seconds"] > 0 and row["samples"] == 60 for row in rows)
    assert [row["variables"] for row in rows] == [8] * 4 + [12] * 4
    assert len(told) == 8
    assert run_discovery_growth(tmp_path, blocks=[1, 2]) == found  # nothing is measured again


def test_the_time_of_all_tests_is_reckoned_from_some(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def count(data: object, edges: object, free: object, *_: object, **__: object) -> None:
        asked.append(int(free.sum()))  # type: ignore[attr-defined]

    clock = iter([10.0, 12.0])
    monkeypatch.setattr(discovery_times, "discover_variables_by_tests", count)
    monkeypatch.setattr(discovery_times.time, "perf_counter", lambda: next(clock))
    row = discovery_time("grader", 2, 60)
    assert asked == [4] and row["tests"] == 4
    assert row["seconds"] == pytest.approx(2.0 * 120 / 4)  # 12 inputs by 10 outputs


def test_the_table_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oocdm.bench.paper.SAMPLES", 60)
    answer = run_times(["block2"], ["cdl", "mlp"])
    assert [cell["method"] for cell in answer["cells"]] == ["cdl"]  # the other has no discovery
    header, rows = comparison_rows("time", answer["cells"], paper_figures())
    assert header == ["environment", "cdl"]
    assert rows[0][0] == "block2" and rows[0][1].endswith("(1.4)")
