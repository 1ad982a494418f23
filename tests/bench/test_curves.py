"""Curves against steps, on a very small dataset."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oocdm.bench import cells, curves
from oocdm.bench.figures import authors_curves
from oocdm.errors import OocdmError
from oocdm.inference import evaluate
from oocdm.methods import AbstractMethod, make_method
from oocdm.training import FitResult, fit
from oocdm.training.trainer import Trainer

TIMES = "processor_seconds"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few transitions, and steps that count as hundreds."""
    few = replace(cells.EXPERIMENTS["block5"], train_steps=240)
    monkeypatch.setitem(cells.EXPERIMENTS, "block5", few)
    for name, value in (("STEPS", 6), ("EVERY", 2), ("TEST_STEPS", 60)):
        monkeypatch.setattr(curves, name, value)
    monkeypatch.setattr(curves, "make_method", quick_method)


def quick_method(name: str, preset: str, **options: Any) -> AbstractMethod:
    method = make_method(name, preset, **options)
    quick = replace(method.schedule, steps_per_iteration=2, batch_size=16)
    if preset == "default":
        quick = replace(quick, iterations=2, polish_steps=1)
    return replace(method, schedule=quick)


def without_times(cell: dict[str, Any]) -> dict[str, Any]:
    rows = [{k: v for k, v in row.items() if k != TIMES} for row in cell["rows"]]
    return {**cell, "rows": rows}


def test_a_row_every_so_many_steps() -> None:
    told = []
    found = curves.run_curves(["block5"], [3], progress=lambda name, state: told.append(name))
    (cell,) = found["cells"]
    assert (cell["preset"], cell["seed"], cell["possible"]) == ("paper", 3, 68)
    assert [row["steps"] for row in cell["rows"]] == [2, 4, 6]
    assert {row["phase"] for row in cell["rows"]} == {"learn"}
    # It begins with all edges that can occur, and each round trains with what the last one found.
    assert cell["rows"][0]["wrong_trained"] == 68 - 14
    found_before = [row["wrong"] for row in cell["rows"][:-1]]
    assert [row["wrong_trained"] for row in cell["rows"][1:]] == found_before
    times = [row[TIMES] for row in cell["rows"]]
    assert times == sorted(times) and times[0] > 0
    assert cell["schedule"]["iterations"] == cell["schedule"]["patience"] == 3
    assert set(told) == {"block5-paper-seed3"}
    assert cell["command"] == "oocdm bench curves --env block5 --seeds 3"


def test_the_last_row_is_what_fit_gives() -> None:
    (cell,) = curves.run_curves(["block5"], [0])["cells"]
    chosen = cells.experiment("block5")
    data = chosen.training_data("released", 0)
    result: FitResult = fit(data, curves._method("block5", "paper"), seed=0)
    true = chosen.make("released").true_graph
    assert true is not None
    testable = result.model.edges.testable(chosen.counts)
    assert cell["rows"][-1]["wrong"] == result.graph.compare(true, testable=testable).shd
    # What it trained with last is what it had found before.
    shorter = replace(result.method, schedule=replace(result.method.schedule, iterations=2))
    before = fit(data, shorter, seed=0).graph
    for kind, is_ood in (("id", False), ("ood", True)):
        test = chosen.test_data("released", 60, 0, is_ood)
        expected = evaluate(result, test, graph=before).aill
        assert cell["rows"][-1][f"aill_{kind}"] == pytest.approx(expected, rel=1e-6)
        assert cell["rows"][-1][f"aill_{kind}"] != cell["rows"][0][f"aill_{kind}"]


def test_the_default_goes_to_the_end_of_its_own_schedule() -> None:
    (cell,) = curves.run_curves(["block5"], [0], "default")["cells"]
    assert [(row["phase"], row["steps"]) for row in cell["rows"]] == [
        *(("learn", 2), ("learn", 4), ("polish", 5))
    ]
    assert cell["rows"][-1]["wrong"] == cell["rows"][-1]["wrong_trained"]
    assert cell["command"].endswith("--seeds 0 --preset default")


def test_an_interrupted_curve_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = curves.run_curves(["block5"], [0])["cells"][0]
    path, write = tmp_path / "block5-paper-seed0.json", curves.write_checkpoint

    class Killed(BaseException):
        pass

    def write_one(folder: Path, trainer: Trainer, *settings: Any) -> None:
        if trainer.position.rounds == 2:
            raise Killed
        write(folder, trainer, *settings)

    monkeypatch.setattr(curves, "write_checkpoint", write_one)
    with pytest.raises(Killed):
        curves.run_curves(["block5"], [0], results_folder=tmp_path)
    half = json.loads(path.read_text())
    assert not half["finished"] and len(half["rows"]) == 2  # the second has no checkpoint
    monkeypatch.setattr(curves, "write_checkpoint", write)
    steps = []
    again = curves.run_curves(
        ["block5"], [0], "paper", tmp_path, lambda name, state: steps.append(state.step)
    )["cells"][0]
    assert steps == [3, 4, 5, 6]
    assert again["rows"][0] == half["rows"][0]
    assert without_times(again) == without_times(whole)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert json.loads(path.read_text()) == again
    # What is finished is read.
    path.write_text(json.dumps({**again, "possible": 7}))
    assert curves.run_curves(["block5"], [0], "paper", tmp_path)["cells"][0]["possible"] == 7


def test_only_what_the_authors_program_was_run_in() -> None:
    with pytest.raises(OocdmError, match="the authors' program was run in, got `block2`"):
        curves.run_curves(["block2"], [0])


def test_the_schedule_is_the_paper_s_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    found, full = curves._method("block5", "paper"), make_method("oocdm", "paper")
    assert (found.schedule.iterations, found.schedule.steps_per_iteration) == (6, 1_000)
    assert replace(found.schedule, iterations=50, patience=50, copies=4) == full.schedule
    assert curves.STEPS == 6 * curves.EVERY == 6_000


def test_the_authors_figures_say_where_they_are_from() -> None:
    theirs = authors_curves()["block5"]
    assert "published program" in theirs["source"]
    assert [curve["seed"] for curve in theirs["curves"]] == [7, 8, 9]
    assert [curve["rows"][-1]["aill_ood"] for curve in theirs["curves"]] == [10.4, 0.3, -2334]
