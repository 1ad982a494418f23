"""The benchmark of speed, on very few samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oocdm.bench import speed
from oocdm.bench.speed import run_speed


def test_both_implementations_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"BATCH": 32, "RANDOM_GRAPHS": 2, "DISCOVERY_STEPS": 40, "GROWTH": (2, 5)}
    for name, number in few.items():
        monkeypatch.setattr(speed, name, number)
    monkeypatch.setattr(speed, "_peak_memory", lambda *asked: float(asked[-1]))
    told: list[str] = []
    found = run_speed(["block2"], 2, tmp_path, told.append)
    assert [(row["env"], row["preset"]) for row in found["rows"]] == [
        ("block2", "paper"),
        ("block2", "default"),
    ]
    for row in found["rows"]:
        for name in ("training", "prediction", "discovery"):
            figures = row[name]
            assert figures["ratio"] == pytest.approx(figures["reference_ms"] / figures["fast_ms"])
            assert (figures["fast_peak_mb"], figures["reference_peak_mb"]) == (0, 1)
    assert [(row["preset"], row["blocks"]) for row in found["growth"]] == [
        *(("paper", 2), ("paper", 5)),
        *(("default", 2), ("default", 5)),
    ]
    assert [row["batch"] for row in found["growth"]][:2] == [64, 32]  # fewer samples of more blocks
    assert told[-1].startswith("growth") and len(told) == 3
    assert json.loads((tmp_path / "speed.json").read_text()) == found


def test_times_are_medians_after_a_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 10.0, 12.0, 20.0, 29.0])
    monkeypatch.setattr(speed.time, "perf_counter", lambda: next(clock))
    calls: list[int] = []
    assert speed._measure(lambda: calls.append(0), 3) == 2.0
    assert len(calls) == 4
