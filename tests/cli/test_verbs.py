"""Every verb does its job, speaks to people and to machines, and is quiet in a pipe."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

import oocdm as package
from oocdm.cli.training import NAMED
from oocdm.envs import collect_walker
from oocdm.graph import ClassGraph
from oocdm.methods.gnn import GnnWidths

Oocdm = Callable[..., Result]
Answer = Callable[..., dict[str, Any]]

VERBS = ("demo", "envs", "collect", "train", "resume", "discover", "eval", "plan")


BENCHES = ("paper", "speed", "calibration", "samples", "decisions")


@pytest.mark.parametrize(
    "verb",
    [
        *([verb] for verb in VERBS),
        ["bench", "paper"],
        ["bench", "speed"],
        ["bench", "calibration"],
        ["bench", "samples"],
        ["bench", "units"],
    ],
)
def test_help_shows_an_example(verb: list[str], oocdm: Oocdm) -> None:
    text = oocdm(*verb, "--help").stdout
    assert f"Example: oocdm {' '.join(verb)}" in text
    assert "--json" in text


def test_version(oocdm: Oocdm) -> None:
    assert oocdm("--version").stdout == f"oocdm {package.__version__}\n"


def test_module_runs_as_the_command_does() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "oocdm", "eval", "nowhere", "--data", "nowhere"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "Error: Run folder nowhere: expected a file config.json, got no such folder. Give a folder "
        "that `oocdm train -o FOLDER` or `fit(..., folder=...)` has written.\n"
    )


def test_help_does_not_wait_for_what_it_does_not_need() -> None:
    slow = {"matplotlib", "scipy.stats", "tensorboard"}
    code = f"import sys, oocdm.cli; print({slow!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n"


def test_envs(oocdm: Oocdm, answer: Answer) -> None:
    assert "block: Blocks with linear dynamics" in oocdm("envs").stdout
    listed = answer("envs")["envs"]
    assert [env["name"] for env in listed] == [
        "block",
        "asymblock",
        "mouse",
        "walker",
        "generated",
    ]
    assert listed[0]["options"]["variant"] == "paper"


def test_collect(answer: Answer, oocdm: Oocdm, tmp_path: Path) -> None:
    words = ("collect", "block", "--num-blocks", "random", "--variant", "released", "--ood")
    more = ("--noise", "0.01", "--steps", "90", "--seed", "3", "-o", tmp_path / "data")
    told = answer(*words, *more)
    assert told["transitions"] == 90
    assert told["options"] == {
        "variant": "released",
        "ood": True,
        "noise": 0.01,
        "num_blocks": None,
    }
    env = package.make("block", num_blocks=None, variant="released", ood=True, noise=0.01)
    expected = package.collect(env, steps=90, seed=3)
    found = package.load_dataset(tmp_path / "data")
    assert (found.values["Block"]["s1"] == expected.values["Block"]["s1"]).all()
    result = oocdm("collect", "block", "--steps", "60", "-o", tmp_path / "data", "--overwrite")
    assert result.stdout.startswith("Dataset(2 episodes, 60 transitions; Block: 5 objects")
    assert result.stderr == ""


def test_collect_under_a_policy_that_learns(answer: Answer, tmp_path: Path) -> None:
    words = ("collect", "walker", "--policy", "ppo", "--steps", "40", "--seed", "2")
    told = answer(*words, "--ood", "-o", tmp_path / "data")
    assert (told["policy"], told["transitions"], told["options"]) == ("ppo", 40, {"ood": True})
    expected = collect_walker(40, seed=2, ood=True, cache=False)
    data = package.load_dataset(tmp_path / "data")
    assert (data.values["Joint"]["torque"] == expected.values["Joint"]["torque"]).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("block", "--policy", "ppo"),
            "Environment `block` has no policy `ppo`. Known: random.",
        ),
        (
            ("walker", "--policy", "pppo"),
            "Environment `walker` has no policy `pppo`. Did you mean `ppo`? Known: random, ppo.",
        ),
        (
            ("walker", "--policy", "ppo", "--variant", "paper"),
            "Policy `ppo` of environment `walker` has no option `variant`. Leave it out.",
        ),
    ],
)
def test_policies_that_cannot_collect(
    words: tuple[str, ...], message: str, error: Any, tmp_path: Path
) -> None:
    assert message in error("collect", *words, "-o", tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_collect_takes_ranges(mouse: Path, answer: Answer, tmp_path: Path) -> None:
    assert package.load_dataset(mouse).max_counts["Food"] <= 2
    options = ("--num-food", "1", "--num-monsters", "0-1", "--num-traps", "2")
    words = ("collect", "mouse", *options, "--steps", "20")
    told = answer(*words, "-o", tmp_path / "mouse")
    assert told["options"]["num_monsters"] == [0, 1]
    assert package.load_dataset(tmp_path / "mouse").max_counts["Monster"] <= 1


def test_train_writes_a_whole_run(
    block: Path, quick: list[str], oocdm: Oocdm, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    options = ("--threshold", "0.2", "--hide-variables", "0.1", "--seed", "4")
    result = oocdm("train", block, "-o", run, *options, *quick)
    assert result.stderr == ""
    names = ("config.json", "schema.json", "graph.json", "model.safetensors", "metrics.jsonl")
    assert all((run / name).is_file() for name in names)
    assert (run / "graph.png").read_bytes().startswith(b"\x89PNG")
    assert len(list((run / "tensorboard").iterdir())) == 1
    loaded = package.load(run)
    assert isinstance(loaded.method, package.Oocdm)
    assert (loaded.seed, loaded.method.threshold) == (4, 0.2)
    assert loaded.method.schedule.polish_steps == 2
    assert loaded.method.hide_variables == 0.1
    for row in str(loaded.graph).splitlines():
        assert row.split(",")[0] in result.stdout


def test_train_with_a_known_graph(
    block: Path, finished: Path, quick: list[str], answer: Answer, tmp_path: Path
) -> None:
    rows = tmp_path / "graph.txt"
    known = package.make("block").true_graph
    rows.write_text(f"{known}\n")
    told = answer("train", block, "-o", tmp_path / "text", "--graph", rows, *quick)
    assert ClassGraph.from_json(package.load_dataset(block).schema, told) == known
    told = answer(
        *("train", block, "-o", tmp_path / "json", "--graph", finished / "graph.json"),
        *("--method", "oofull", "--preset", "paper", "--minutes", "0", *quick),
        *("--polish-steps", "0"),
    )
    assert told["edges"] == package.load(finished).graph.to_json()["edges"]
    assert told["method"] == "oofull"


def test_train_a_baseline_with_options_and_a_graph_of_variables(
    block: Path, quick: list[str], answer: Answer, tmp_path: Path
) -> None:
    data = package.load_dataset(block)
    known = package.make("block").true_graph.ground(data.max_counts)
    rows = tmp_path / "graph.txt"
    rows.write_text(f"{known}\n")
    options = ("--option", "encoding=8", "--option", "threshold=null")
    told = answer(
        *("train", block, "-o", tmp_path / "run", "--method", "cdl", "--graph", rows),
        *(*options, *quick),
    )
    assert told["edges"] == known.to_json()["edges"]
    method = package.load(tmp_path / "run").method.to_json()
    assert (method["encoding"], method["threshold"]) == (8, None)


def test_options_with_parts_go_together_with_flags(
    block: Path, quick: list[str], oocdm: Oocdm, tmp_path: Path
) -> None:
    options = ("--option", "widths={node: 16}", "--option", "schedule={batch_size: 32}")
    oocdm("train", block, "-o", tmp_path / "run", "--method", "gnn", *options, *quick)
    method = package.load(tmp_path / "run").method
    assert method.to_json()["widths"] == {**asdict(GnnWidths()), "node": 16}
    assert (method.schedule.batch_size, method.schedule.polish_steps) == (32, 2)


def test_resume_ends_as_the_uninterrupted_run(
    interrupted: Path, finished: Path, answer: Answer
) -> None:
    told = answer("resume", interrupted)
    weights = (run / "model.safetensors" for run in (interrupted, finished))
    first, second = (path.read_bytes() for path in weights)
    assert first == second
    assert told["edges"] == package.load(finished).graph.to_json()["edges"]
    assert (interrupted / "graph.png").is_file()
    assert not (interrupted / "checkpoints").exists()


def test_resume_of_a_finished_run_only_tells(my_run: Path, answer: Answer) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in my_run.rglob("*"))
    assert answer("resume", my_run)["run"] == str(my_run)
    assert sorted((path, path.stat().st_mtime_ns) for path in my_run.rglob("*")) == before


def test_resume_tidies_up_a_run_that_was_killed_at_its_end(
    my_run: Path, stopped: Path, answer: Answer
) -> None:
    (my_run / "graph.png").unlink()
    (my_run / ".oocdm-0123456789abcdef").touch()
    shutil.copytree(stopped / "checkpoints", my_run / "checkpoints")
    assert answer("resume", my_run)["picture"] == str(my_run / "graph.png")
    assert (my_run / "graph.png").read_bytes().startswith(b"\x89PNG")
    assert not (my_run / "checkpoints").exists()
    assert not (my_run / ".oocdm-0123456789abcdef").exists()


def test_accept(my_run: Path, my_block: Path, oocdm: Oocdm, answer: Answer, error: Any) -> None:
    for folder in (my_run, my_block):
        path = folder / "schema.json"
        path.write_text(json.dumps(json.loads(path.read_text())))
        said = error("eval", my_run, "--data", my_block)
        assert f"`{path}` is not as it was when" in said and f"`oocdm accept {folder}`" in said
        assert answer("accept", folder) == {"folder": str(folder)}
    oocdm("eval", my_run, "--data", my_block)


def test_curves_are_not_written_through_a_link(
    interrupted: Path, tmp_path: Path, error: Any
) -> None:
    shutil.rmtree(interrupted / "tensorboard", ignore_errors=True)
    (tmp_path / "theirs").mkdir()
    (interrupted / "tensorboard").symlink_to(tmp_path / "theirs")
    assert "tensorboard`: expected a folder, got a link." in error("resume", interrupted)
    assert list((tmp_path / "theirs").iterdir()) == []


def test_resume_with_data_that_moved(interrupted: Path, my_block: Path, answer: Answer) -> None:
    assert answer("resume", interrupted, "--data", my_block)["method"] == "oocdm"


def test_train_with_priors(
    block: Path, quick: list[str], tmp_path: Path, answer: Answer, error: Any
) -> None:
    file = tmp_path / "known.yaml"
    file.write_text("- Total.t <- !Block[*].*\n")
    told = answer(
        *("train", block, "-o", tmp_path / "run", *quick, "--priors", file),
        *("--prior", "Block.s1 <- self.a", "--threshold", "-1e9"),
    )
    assert "Block.s1 <- self.a" in told["edges"]
    assert not any(e.startswith("Total.t <- Block") for e in told["edges"])
    contradiction = error(
        *("train", block, "-o", tmp_path / "other", *quick, "--priors", file),
        *("--prior", "Total.t <- Block[*].s1"),
    )
    assert "contradicts" in contradiction and not (tmp_path / "other").exists()


def test_discover(finished: Path, block: Path, oocdm: Oocdm, answer: Answer) -> None:
    told = answer("discover", finished, "--data", block, "--threshold", "1000")
    assert told["edges"] == []
    assert told["dropped"] == sorted(map(str, package.load(finished).graph.edges()))
    assert told["added"] == []
    scores = {row["edge"]: row["score"] for row in told["table"]}
    assert scores["Total.s1 <- Total[*].s1"] is None  # there is but one Total
    assert isinstance(scores["Total.s1 <- self.s1"], float)
    text = oocdm("discover", finished, "--data", block).stdout
    assert text.startswith("Block.s1 <- ")
    assert "Against the graph of the run: added " in text


def test_discover_between_variables(
    finished: Path, block: Path, oocdm: Oocdm, answer: Answer
) -> None:
    words = ("discover", finished, "--data", block, "--variables")
    told = answer(*words, "--threshold", "1000")
    assert told["edges"] == []
    assert (len(told["inputs"]), len(told["outputs"]), len(told["table"])) == (12, 10, 120)
    told = answer(*words, "--threshold", "-1000")
    grounded = package.load(finished).graph.ground({"Block": 2, "Total": 1})
    assert package.VariableGraph.from_json(package.load_dataset(block).schema, told) == grounded
    assert oocdm(*words).stdout.startswith("Block[0].s1 <- ")


def test_eval(finished: Path, block: Path, oocdm: Oocdm, answer: Answer) -> None:
    expected = package.evaluate(package.load(finished), package.load_dataset(block))
    told = answer("eval", finished, "--data", block)
    assert told["aill"] == pytest.approx(expected.aill)
    assert set(told["fields"]) == set(expected.fields)
    text = oocdm("eval", finished, "--data", block).stdout
    assert f"AILL {expected.aill:.3f} on 300 transitions" in text
    assert "Total.t" in text


def test_it_is_said_if_more_predicts_than_is_claimed(
    my_run: Path, block: Path, oocdm: Oocdm, answer: Answer
) -> None:
    path = my_run / "graph.json"
    graph = json.loads(path.read_text())
    row = next(row for row in graph["table"] if row["decision"] in ("no", "undecided"))
    row.update(decision="undecided", predicts=True)
    path.write_text(json.dumps(graph))
    oocdm("accept", my_run)
    kept = [row["edge"] for row in graph["table"] if row["predicts"]]
    kept = [edge for edge in kept if edge not in graph["edges"]]
    more = f" and {len(kept) - NAMED} more (see graph.json)" if len(kept) > NAMED else ""
    line = f"\nPredicts with undecided edges as well: {', '.join(kept[:NAMED])}{more}\n"
    assert line in oocdm("eval", my_run, "--data", block).stdout
    assert line in oocdm("resume", my_run).stdout
    assert answer("resume", my_run)["kept_undecided"] == kept


def test_demo_tells_and_repeats(oocdm: Oocdm, answer: Answer, tmp_path: Path) -> None:
    words = ("demo", "--quick", "-o", tmp_path / "demo")
    text = oocdm(*words).stdout
    assert "marked against the true ones" in text
    assert str(tmp_path / "demo" / "run" / "graph.png") in text
    told = answer(*words)
    assert 0 < told["graph_accuracy"] <= 1
    assert {"aill_id", "aill_ood", "seconds", "edges"} <= set(told)
    assert Path(told["picture"]).read_bytes().startswith(b"\x89PNG")
    assert len(package.load_dataset(told["data"])) == 400
    package.load(told["run"])


def test_bench_speaks_to_both(
    monkeypatch: pytest.MonkeyPatch, oocdm: Oocdm, answer: Answer
) -> None:
    asked: dict[str, Any] = {}
    figures = ("graph_accuracy", "aill_train", "aill_id", "aill_ood", "seconds")
    cell = {"env": "block5", "method": "oocdm", "seed": 0, **dict.fromkeys(figures, 0.5)}

    def run_paper(**words: Any) -> dict[str, Any]:
        asked.update(words)
        return {"cells": [cell], "summary": {}}

    work = {"fast_ms": 10.0, "reference_ms": 90.0, "ratio": 9.0, "fast_peak_mb": None}

    def run_speed(envs: Any, repeats: int, *_: Any) -> dict[str, Any]:
        asked.update(envs=envs, repeats=repeats)
        growth = [{"blocks": 5, "preset": "paper", "training_ms_a_sample": 0.123456}]
        return {"rows": [{"env": "block5", "preset": "paper", "work": work}], "growth": growth}

    monkeypatch.setattr("oocdm.bench.paper.run_paper", run_paper)
    monkeypatch.setattr("oocdm.bench.speed.run_speed", run_speed)
    words = ("bench", "paper", "--env", "block5", "--env", "mouse", "--seeds", "0-2,7")
    assert answer(*words) == {"cells": [cell], "summary": {}}
    assert (asked["envs"], asked["methods"]) == (["block5", "mouse"], ["oocdm"])
    assert asked["seeds"] == [0, 1, 2, 7]
    assert "block5   oocdm" in oocdm(*words).stdout
    assert answer("bench", "speed", "--env", "block5", "--repeats", "2")["rows"]
    assert (asked["envs"], asked["repeats"]) == (["block5"], 2)
    assert "0.1235" in oocdm("bench", "speed").stdout
