"""Times of discovery: what is timed, kept and reckoned."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oocdm.bench import cells, discovery_times
from oocdm.bench.discovery_times import METHODS, discovery_time, run_discovery_growth
from oocdm.bench.figures import paper_figures
from oocdm.bench.paper import run_times
from oocdm.discovery.independence.variable_tests import VariableTests
from oocdm.envs import make
from oocdm.errors import OocdmError
from oocdm.report.comparison import comparison_rows
from oocdm.worlds import collect


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few samples, and few tests of them."""
    few = {"GROWTH_SAMPLES": 60, "GRADER_GROWTH_SAMPLES": 60, "MOST_TESTS": 4}
    for name, number in few.items():
        monkeypatch.setattr(discovery_times, name, number)


def test_growth_of_every_method(tmp_path: Path) -> None:
    told: list[str] = []
    found = run_discovery_growth(tmp_path, lambda *said: told.append(said[0]), blocks=[1, 2])
    rows = found["rows"]
    assert [(r["method"], r["blocks"]) for r in rows] == [(m, b) for b in (1, 2) for m in METHODS]
    assert all(row["seconds"] > 0 and row["samples"] == 60 for row in rows)
    assert [row["variables"] for row in rows] == [8] * 4 + [12] * 4
    assert len(told) == 8
    assert rows[1]["command"] == "oocdm bench discovery --method cdl --blocks 1"
    assert run_discovery_growth(tmp_path, blocks=[1, 2]) == found  # nothing is measured again


def test_the_time_of_all_tests_is_reckoned_from_some(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def count(tests: VariableTests, free: np.ndarray) -> None:
        asked.append(int(free.sum()))

    clock = iter([10.0, 12.0])
    monkeypatch.setattr(VariableTests, "discover", count)
    monkeypatch.setattr(discovery_times.time, "perf_counter", lambda: next(clock))
    data = collect(make("block", num_blocks=2), 60)
    row = discovery_time("grader", data, "oocdm")
    assert asked == [12] and row["tests"] == 12  # all of one output
    assert row["seconds"] == pytest.approx(2.0 * 120 / 12)  # 12 inputs by 10 outputs


def test_the_table_of_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(cells.EXPERIMENTS["block2"], train_steps=60)
    monkeypatch.setitem(cells.EXPERIMENTS, "block2", small)
    answer = run_times(["block2"], ["cdl"], tmp_path)
    header, rows = comparison_rows("time", answer["cells"], paper_figures())
    assert header == ["environment", "cdl"]
    assert rows[0][0] == "block2" and rows[0][1].endswith("(1.4)")
    stored = json.loads((tmp_path / "time-block2-cdl.json").read_text())
    assert stored["command"] == "oocdm bench paper --table time --env block2 --method cdl"
    assert (stored["variables"], stored["samples"]) == (12, 60)


@pytest.mark.parametrize("method", ["mlp", "ticsa"])
def test_methods_without_a_discovery_of_their_own_are_refused(method: str) -> None:
    message = f"Times of discovery: expected one of oocdm, cdl, cdl-a, grader, got `{method}`."
    with pytest.raises(OocdmError, match=message):
        discovery_time(method, collect(make("block"), 60), "oocdm")
    with pytest.raises(OocdmError, match=message):
        run_discovery_growth(methods=["cdl", method], blocks=[1])
    with pytest.raises(OocdmError, match=message):
        run_times(["block2"], ["cdl", method])


def test_objects_of_all_classes_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(cells.EXPERIMENTS["asymblock"], train_steps=60)
    monkeypatch.setitem(cells.EXPERIMENTS, "asymblock", small)
    answer = run_times(["asymblock"], ["oocdm"])
    assert answer["cells"][0]["variables"] == 40
    assert comparison_rows("time", answer["cells"], paper_figures())[1][0][1].endswith("(2.1)")
