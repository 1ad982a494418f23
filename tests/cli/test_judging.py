"""Judging on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from oocdm.cli.bench import parse_seeds
from oocdm.errors import OocdmError

Oocdm = Callable[..., Any]
Error = Callable[..., str]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What was asked of the benchmark, which is not run."""
    found: list[tuple[Any, ...]] = []

    def run(families: Any, seeds: Any, folder: Any, jobs: int, tell: object) -> dict[str, Any]:
        found.append((list(families), seeds, folder, jobs))
        return {"worlds": [], "summary": {"all": SUMMARY}}

    monkeypatch.setattr("oocdm.bench.calibration.run_calibration", run)
    return found


NATS = {"median": 0.01, "tail": 0.1, "coverage": 0.9}
LEVEL = {"low": 0.02, "high": None, "edges": 3, "share": 1.0, "interval": [0.4, 1.0]}
SUMMARY = {
    **{"worlds": 2, "wrong_share": 0.0, "wrong_interval": [0.0, 0.0], "wrong": 0, "found": 3},
    **{"power": [LEVEL, LEVEL], "curve": [LEVEL], "exact": 1.0, "id": NATS, "ood": NATS},
    **{"settled": None, "processor_seconds": {"median": 1.0, "most": 2.0}},
}


def test_families_and_seeds_go_to_the_benchmark(oocdm: Oocdm, asked: list[Any]) -> None:
    words = ("--family", "forces", "--family", "weak", "--seeds", "10000-10001", "--jobs", "2")
    answer = json.loads(oocdm("bench", "calibration", *words, "--json").stdout)
    assert answer["summary"]["all"]["found"] == 3
    assert asked == [(["forces", "weak"], [10_000, 10_001], None, 2)]
    shown = oocdm("bench", "calibration", "--seeds", "10000").stdout
    assert "wrong among" in shown and "0.010 /" in shown
    families, seeds, *_ = asked[-1]
    assert families[0] == "mixed" and len(families) == 10 and seeds == [10_000]


def test_seeds_must_be_chosen(error: Error, oocdm: Oocdm) -> None:
    text = " ".join(oocdm("bench", "calibration", "--help").stdout.replace("│", "").split())
    assert "for judging" in text and "10,000" in text
    assert "no family `force`" in error(
        "bench", "calibration", "--family", "force", "--seeds", "10000"
    )


def test_logs_of_other_simulators(
    oocdm: Oocdm, error: Error, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no simulator `highwy`" in error("bench", "logs", "--env", "highwy")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "highway_env", None)
        assert 'pip install "oocdm[logs]"' in error("bench", "logs")
        patch.setitem(sys.modules, "mpe2", None)
        assert "the package mpe2" in error("bench", "logs", "--env", "mpe")
    seen: list[Any] = []

    def run(env: str, seeds: Any, folder: Any, jobs: int, tell: object) -> dict[str, Any]:
        seen.append((env, seeds, jobs))
        cell = {"env": env, "seed": 0, "common": 3, "missed": ["Car.x <- self.x"], "unlisted": []}
        cell |= {"jaccard": None, "settled": None, "processor_seconds": 5.0}
        return {"cells": [{**cell, "rollouts": {}, "slowed": {"cases": 0}}]}

    monkeypatch.setattr("oocdm.bench.logs.run_logs", run)
    assert "2 of 3" in oocdm("bench", "logs", "--seeds", "0", "--jobs", "2").stdout
    oocdm("bench", "logs", "--env", "mpe")
    assert seen == [("highway", [0], 2), ("mpe", [0, 1, 2], 1)]


def test_more_seeds_than_anyone_has_time_for() -> None:
    for text in ("0-99999999999", "0-5000,0-5000", "0-" + "9" * 200):
        with pytest.raises(OocdmError, match="--seeds: expected at most 10,000 seeds, got '0-"):
            parse_seeds(text)
    with pytest.raises(OocdmError, match="Option --seeds: expected such as 0, 0-2 or 0,3,7"):
        parse_seeds("3-1")
    with pytest.raises(OocdmError, match=r"Option --seeds: `\[0\]`: expected a whole number"):
        parse_seeds("9" * 30)
