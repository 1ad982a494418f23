"""The paper benchmark on a very small cell."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from oocdm.bench import cells, paper
from oocdm.bench.figures import paper_figures
from oocdm.envs import make
from oocdm.errors import OocdmError
from oocdm.methods import Schedule
from oocdm.report.comparison import comparison_rows
from oocdm.report.terminal import cells_table


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
    assert cell["processor_seconds"] > 0
    assert cell["command"].startswith("oocdm bench paper --env block2 --method oocdm --seeds 3")
    assert {name for name, _ in told} == {"block2-oocdm-default-released-seed3"}
    phases = list(dict.fromkeys(phase for _, phase in told))
    assert phases[:2] == ["Collecting training data", "learn"]
    assert phases[-2:] == ["Collecting test data id", "Collecting test data ood"]
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


def test_without_a_true_graph_the_graph_itself_is_kept(monkeypatch, tmp_path):
    small = replace(cells.EXPERIMENTS["walker"], train_steps=600)
    monkeypatch.setitem(cells.EXPERIMENTS, "walker", small)
    monkeypatch.setattr(paper, "TEST_STEPS", 120)
    told = []
    results = paper.run_paper(
        ["walker"],
        ["oofull", "mlp"],
        [0],
        results_folder=tmp_path,
        minutes=0.001,
        progress=lambda name, state: told.append(state.phase),
    )
    for cell in results["cells"]:
        assert cell["graph_accuracy"] is None
        assert results["summary"][f"walker {cell['method']} default"]["graph_accuracy"] is None
        assert results["summary"][f"walker {cell['method']} default"]["aill_ood"]["std"] is None
        assert "roc_auc" not in cell
    by_class, by_variable = results["cells"]
    # Into 2 targets of Joint 11 edges each, and into 5 of Top, of which there is one, 8 each.
    assert len(by_class["class_edges"]) == by_class["testable_class_edges"] == 2 * 11 + 5 * 8
    assert "Joint.angle <- Joint[*].torque" in by_class["class_edges"]
    assert len(by_variable["variable_edges"]) == 23 * 17
    assert {"Collecting training data", "Collecting test data ood"} <= set(told)
    tables = [
        comparison_rows(name, results["cells"], paper_figures()) for name in ("graphs", "aill")
    ]
    assert tables[0][1] == [["walker", "", ""]]
    assert [row[0] for row in tables[1][1]] == ["walker, train", "walker, id", "walker, ood"]
    assert cells_table(results["cells"]).row_count == 2


def test_variables_are_judged_by_the_true_graph_of_variables(monkeypatch):
    small = replace(cells.EXPERIMENTS["asymblock"], train_steps=240)
    monkeypatch.setitem(cells.EXPERIMENTS, "asymblock", small)
    monkeypatch.setattr(paper, "TEST_STEPS", 120)
    results = paper.run_paper(["asymblock"], ["oofull", "mlp"], [0], minutes=0.001)
    by_class, by_variable = results["cells"]
    true = make("asymblock").world
    # Both claim all edges. A class edge stands for those between all pairs of objects.
    assert by_class["graph_accuracy"] == pytest.approx(
        true.true_graph.ground(small.counts).matrix.mean()
    )
    assert by_variable["graph_accuracy"] == pytest.approx(true.true_variable_graph.matrix.mean())
    assert "Total[0].s1 <- Block[1].s1" in by_variable["wrong_variable_edges"]
    assert "Total[1].s1 <- Block[0].s1" not in by_variable["wrong_variable_edges"]
