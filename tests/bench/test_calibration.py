"""The calibration benchmark: counting, resuming, and its summary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oocdm.bench import calibration
from oocdm.methods import Schedule


def row(true: int, false: int, true_edges: int) -> dict[str, Any]:
    found = {"true": true, "false": false}
    return {"found": {"automatic": found}, "true_edges": true_edges}


def test_summary_is_a_mean_over_worlds() -> None:
    rows = [row(9, 1, 10), row(0, 0, 4), row(5, 0, 5)]
    found = calibration.summarise(rows, "automatic")
    assert found["worlds"] == 3
    assert found["false_discovery_rate"] == pytest.approx(0.1 / 3)
    assert found["power"] == pytest.approx((0.9 + 0 + 1) / 3)
    assert found["exact_graphs"] == pytest.approx(1 / 3)
    low, high = found["false_discovery_interval"]
    assert low == 0 and 0.1 / 3 < high < 0.2


def test_worlds_are_fitted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = Schedule(iterations=1, steps_per_iteration=3, polish_steps=0, batch_size=64)
    monkeypatch.setattr(calibration, "SCHEDULE", quick)
    monkeypatch.setattr(calibration, "STEPS", 600)
    told: list[tuple[int, int]] = []
    first = calibration.run_calibration(2, tmp_path, lambda *counts: told.append(counts))
    assert told == [(1, 2), (2, 2)]
    for world in first["worlds"]:
        counts = world["found"]["automatic"]
        assert counts["true"] + len(world["wrong"]["missing"]) == world["true_edges"]
        assert counts["false"] == len(world["wrong"]["extra"])
        assert len(world["rows"]) >= world["testable_edges"] > world["true_edges"] > 0
    assert list(first["summary"]) == ["automatic", "0.03", "0.1", "0.3"]

    def never(seed: int) -> dict[str, Any]:
        raise AssertionError("a finished world is read, not run again")

    monkeypatch.setattr(calibration, "_run_world", never)
    again = calibration.run_calibration(2, tmp_path)
    assert json.dumps(again) == json.dumps(first)
