"""The benchmark of decisions from a trained model, on a very small cell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from oocdm.bench import cells, decisions
from oocdm.methods import Schedule


def test_both_ways_have_the_same_gains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(cells.EXPERIMENTS["block2"], train_steps=300)
    monkeypatch.setitem(cells.EXPERIMENTS, "block2", small)
    monkeypatch.setattr(decisions, "STEPS", 400)  # below the first look: nothing is stopped
    # Long enough that no gain is in the thousands, of which single precision has fewer digits.
    quick = Schedule(iterations=1, steps_per_iteration=60, polish_steps=0, batch_size=64)
    (row,) = decisions.run_decisions(["block2"], tmp_path, schedule=quick)["rows"]
    assert row["edges"] == row["same_decisions"] == 68 and not row["different"]
    assert row["largest_difference_of_gains"] < 1e-4  # in single precision
    assert row["ratio"] == pytest.approx(row["reference_seconds"] / row["fast_seconds"])
    assert (tmp_path / "block2.json").is_file()
