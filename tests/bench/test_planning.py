"""How long planning takes, with everything small."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from oocdm.bench import mouse, planning
from oocdm.methods import Schedule
from oocdm.planning import CEM
from oocdm.training import fit


def test_both_implementations_choose_the_same_actions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    quick = Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    monkeypatch.setattr(mouse, "fit", partial(fit, schedule=quick))
    monkeypatch.setattr(mouse, "TRAIN_STEPS", 200)
    monkeypatch.setattr(planning, "PLANNER", CEM(horizon=3, iterations=2, samples=10, elites=3))
    answer = planning.run_planning(tmp_path, None, repeats=2, each=(0, 5))
    (row,) = answer["rows"]
    assert row["same_actions"] == row["actions"] == 2
    assert row["ratio"] == pytest.approx(row["reference_ms"] / row["fast_ms"])
    assert "Mouse.hunger" in row["simulated"]
    assert [g["objects"] for g in answer["growth"]] == [1, 16]
    assert planning.run_planning(tmp_path, None, repeats=2, each=(0, 5)) == answer
