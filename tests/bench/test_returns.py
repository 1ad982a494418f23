"""The tables of returns and of unseen tasks, with everything small."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from oocdm.bench import mouse, returns
from oocdm.bench.returns import run_returns, run_unseen
from oocdm.methods import Schedule
from oocdm.planning import CEM
from oocdm.training import fit


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    monkeypatch.setattr(mouse, "fit", partial(fit, schedule=quick))
    monkeypatch.setattr(mouse, "TRAIN_STEPS", 200)
    monkeypatch.setattr(returns, "TEST_STEPS", 100)
    monkeypatch.setattr(mouse, "OPTIONS", {**mouse.OPTIONS, "max_episode_steps": 4})
    planner = CEM(horizon=2, iterations=1, samples=4, elites=2, stop_at_termination=False)
    monkeypatch.setattr(returns, "PLANNER", planner)


def test_returns_of_every_agent_from_both_starts(tmp_path: Path) -> None:
    told: list[str] = []
    cells = run_returns(
        tmp_path, lambda name, *_: told.append(name), ["oocdm"], seeds=[3], episodes=2
    )["cells"]
    assert [(c["agent"], c["kind"]) for c in cells] == [
        (agent, kind) for agent in ("random", "true", "oocdm") for kind in ("id", "ood")
    ]
    for cell in cells:
        assert cell["lengths"] == [4, 4]
        assert cell["mean_return"] == pytest.approx(np.mean(cell["returns"]))
        assert (cell["fit_seconds"] is None) == (cell["agent"] != "oocdm")
        assert cell["planner"]["samples"] == 4
    assert len({tuple(cell["returns"]) for cell in cells}) > 1  # agents differ
    # Both starts share one fit; the second call reads everything.
    assert [p.name for p in (tmp_path / "runs").iterdir()] == ["mouse-oocdm-seed3"]
    assert any("oocdm" in name for name in told)
    told.clear()
    again = run_returns(tmp_path, lambda name, *_: told.append(name), ["oocdm"], [3], 2)["cells"]
    assert again == cells and told == []


def test_models_are_trained_on_seen_tasks_and_tried_on_unseen_ones(tmp_path: Path) -> None:
    cells = run_unseen(tmp_path, None, ["oofull"], seeds=[0], episodes=2)["cells"]
    assert [cell["agent"] for cell in cells] == ["random", "true", "oofull"]
    for cell in cells:
        for kind in ("seen", "unseen"):
            assert len(cell[kind]["returns"]) == 2
            assert (f"aill_{kind}" in cell) == (cell["agent"] == "oofull")
    assert cells[0]["seen"]["returns"] != cells[0]["unseen"]["returns"]
