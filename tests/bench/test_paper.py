"""The paper benchmark on a very small cell."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from oocdm.bench import cells, paper
from oocdm.errors import OocdmError
from oocdm.methods import Schedule


@pytest.fixture
def small_cell(monkeypatch):
    small = replace(cells.EXPERIMENTS["block2"], train_steps=240)
    monkeypatch.setitem(cells.EXPERIMENTS, "block2", small)
    monkeypatch.setattr(paper, "TEST_STEPS", 120)


def test_a_cell_holds_figures_and_where_they_come_from(small_cell, tmp_path):
    told = []
    results = paper.run_paper(
        ["block2"],
        ["oocdm"],
        [3],
        results_folder=tmp_path,
        minutes=0.001,
        progress=lambda name, state: told.append((name, state.phase)),
    )
    (cell,) = results["cells"]
    assert 0 <= cell["graph_accuracy"] <= 1
    assert cell["testable_class_edges"] == 68
    assert {"aill_train", "aill_id", "aill_ood", "seconds", "processor", "date"} <= set(cell)
    assert cell["command"].startswith("oocdm bench paper --env block2 --method oocdm --seeds 3")
    assert told[0] == ("block2-oocdm-default-released-seed3", "learn")
    assert set(results["summary"]) == {"block2 oocdm default"}


def test_a_finished_cell_is_read_instead_of_run_again(small_cell, tmp_path):
    arguments = (["block2"], ["oofull"], [0], "default", tmp_path, 0.001)
    first = paper.run_paper(*arguments)
    (path,) = tmp_path.glob("*.json")
    marked = {**json.loads(path.read_text()), "graph_accuracy": 0.125}
    path.write_text(json.dumps(marked))
    again = paper.run_paper(*arguments)
    assert again["cells"] == [marked]
    assert first["cells"] != again["cells"]


def test_the_table_of_graphs_runs_its_cells(small_cell, tmp_path, monkeypatch):
    monkeypatch.setattr(
        paper, "GRAPHS", [(["block2"], "released", [0]), (["block2"], "paper", [0])]
    )
    short = Schedule(iterations=1, steps_per_iteration=1, polish_steps=1)
    fit = paper.fit
    monkeypatch.setattr(
        paper, "fit", lambda *args, **options: fit(*args, **{**options, "schedule": short})
    )
    found = paper.run_graphs(tmp_path)
    assert [cell["variant"] for cell in found["cells"]] == ["released", "paper"]
    assert found["cells"][1]["command"].endswith("--seeds 0 --variant paper")
    assert set(found["summary"]) == {"block2 oocdm default", "block2 oocdm default paper"}
    for cell in found["cells"]:
        assert 0 <= cell["roc_auc"] <= 1
        assert set(cell["open_class_edges"]).isdisjoint(["Total.s1 <- Total[*].s1"])


def test_a_cell_of_other_minutes_is_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(paper, "recall", lambda *_: pytest.fail("a cell was run"))
    path = tmp_path / "block2-mlp-default-released-seed1.json"
    path.write_text('{"minutes_allowed": 5.0}')
    message = f"`{path}`: expected a cell of unlimited time, got one of 5 minutes."
    with pytest.raises(OocdmError, match=re.escape(message)):
        paper.run_paper(["block2"], ["mlp"], [0, 1], results_folder=tmp_path)


def test_a_cell_of_the_same_minutes_is_read(tmp_path, monkeypatch):
    figures = ("graph_accuracy", "aill_train", "aill_id", "aill_ood", "seconds")
    stored = {"env": "block2", "method": "mlp", "preset": "default", "variant": "released"}
    stored |= {"minutes_allowed": 5.0, **dict.fromkeys(figures, 0.5)}
    path = tmp_path / "block2-mlp-default-released-seed0.json"
    path.write_text(json.dumps(stored))
    found = paper.run_paper(["block2"], ["mlp"], [0], results_folder=tmp_path, minutes=5)
    assert found["cells"] == [stored]


def test_options_of_methods_reach_the_fit(small_cell, monkeypatch):
    chosen = replace(cells.EXPERIMENTS["block2"], method_options={"mlp": {"width": 8}})
    monkeypatch.setitem(cells.EXPERIMENTS, "block2", chosen)
    (cell,) = paper.run_paper(["block2"], ["mlp"], [0], minutes=0.001)["cells"]
    # Three layers of 8 on 12 inputs, and 10 outputs of two numbers each.
    assert cell["bytes"] == 4 * (12 * 8 + 8 + 2 * (8 * 8 + 8) + 10 * (8 * 2 + 2))
