"""The folder of a run, and clear errors for what is missing or broken."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from oocdm import (
    Dataset,
    FitResult,
    ObjectClass,
    Oocdm,
    Oofull,
    Real,
    Schedule,
    Schema,
    accept_changes,
    evaluate,
    fit,
    load,
    load_dataset,
    resume,
)
from oocdm.errors import DataError, FileError, GraphError, ModelError, OocdmError
from oocdm.files.lock import locked
from oocdm.files.manifest import MANIFEST
from oocdm.files.tensors import checksum_of, from_bytes, to_bytes
from oocdm.graph import ClassGraph
from oocdm.methods import AbstractMethod
from oocdm.training.run import CHECKPOINT
from tests.files.killing import killed
from tests.inference.ragged import ragged

QUICK = Schedule(iterations=1, steps_per_iteration=2, polish_steps=2, batch_size=16)
DATA = ragged(lengths=(4, 1, 3, 6))


class Ant(ObjectClass):
    x = Real()
    mass = Real(static=True)


OTHER = ragged(Schema(Ant))


@pytest.fixture(scope="module")
def result() -> FitResult:
    return fit(DATA, Oocdm(schedule=QUICK, num_graphs=4, max_scored=4), seed=3)


@pytest.fixture
def folder(result: FitResult, tmp_path: Path) -> Path:
    """A finished run without a manifest, as if another tool had written it, to be damaged."""
    result.save(tmp_path / "run")
    (tmp_path / "run" / MANIFEST).unlink()
    return tmp_path / "run"


class Interrupt(Exception):
    """Stands for the end of the process."""


FULL = Oofull(schedule=QUICK)


def interrupted(
    folder: Path, logged: Dataset = DATA, method: AbstractMethod = FULL, **where: Any
) -> None:
    """A run that ends after its first checkpoint."""

    def stop(progress: Any) -> None:
        if progress.phase == "polish" or progress.step > QUICK.steps_per_iteration:
            raise Interrupt

    with pytest.raises(Interrupt):
        fit(logged, method, folder=folder, callback=stop, **where)
    assert (folder / CHECKPOINT).is_file()


# ---------------------------------------------------------------- save and load


def test_the_files_of_a_run(folder: Path) -> None:
    assert {p.name for p in folder.iterdir()} == {
        *("config.json", "schema.json", "graph.json", "model.safetensors", "history.json"),
        "learned.safetensors",
        "seen.json",
    }
    table = json.loads((folder / "graph.json").read_text())["table"]
    assert len(table) == len(ClassGraph.full(DATA.schema).mask)
    columns = ("edge", "score", "low", "high", "limit", "p_value", "stability", "decision")
    assert {tuple(row) for row in table} == {(*columns, "predicts")}


def test_save_and_load(result: FitResult, folder: Path) -> None:
    back = load(folder)
    assert back.graph == result.graph and back.schema == result.schema
    assert (back.method, back.seed) == (result.method, result.seed)
    assert (back.history, back.seconds) == (result.history, result.seconds)
    assert back.evidence.rows() == result.evidence.rows()
    assert back.seen == result.seen and back.settled == result.settled
    for a, b in ((result.model, back.model), (result.learned, back.learned)):
        ours, theirs = a.state_dict(), b.state_dict()
        assert list(ours) == list(theirs)
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_loaded_model_predicts_the_same_bits(result: FitResult, folder: Path) -> None:
    back = load(folder)
    before = ragged(seed=9).transitions().before
    ours, theirs = (r.model.compile_for(r.graph)(before) for r in (result, back))
    for c, prediction in ours.classes.items():
        other = theirs.classes[c]
        assert torch.equal(prediction.mean, other.mean)
        assert torch.equal(prediction.sigma, other.sigma)
        for v, logits in prediction.logits.items():
            assert torch.equal(logits, other.logits[v])
    assert evaluate(back, DATA) == evaluate(result, DATA)


def test_what_predicts_and_what_is_claimed_are_kept_apart(tmp_path: Path) -> None:
    result = fit(DATA, FULL)
    edge = str(result.graph.edges()[0])
    at = result.evidence.edges.names.index(edge)
    words = result.evidence.decision.copy()
    words[at] = "undecided"
    evidence = replace(result.evidence, decision=words)
    less = replace(result, graph=evidence.graph, evidence=evidence, settled=False, seen=None)
    assert less.kept_undecided == (edge,)
    assert "predicts with 1 undecided one as well, not settled" in repr(less)
    less.save(tmp_path / "run")
    back = load(tmp_path / "run")
    assert (back.graph, back.prediction_graph) == (less.graph, result.graph)
    assert back.kept_undecided == (edge,)
    assert back.settled is False and back.seen is None
    assert evaluate(back, DATA).aill == evaluate(result, DATA).aill
    claimed = evaluate(back, DATA, graph=back.graph)
    assert claimed.aill != evaluate(back, DATA).aill


@pytest.mark.parametrize("method", [Oofull, Oocdm])
def test_save_and_load_of_the_paper_s_network(method: Any, tmp_path: Path) -> None:
    quick = Schedule(1, 1, 0, batch_size=16, held_out=0.0, resolution=0.0, optimiser="adam")
    first = fit(DATA, method.preset("paper", schedule=quick), seed=1)
    first.save(tmp_path)
    back = load(str(tmp_path))
    assert back.method == first.method and back.graph == first.graph
    assert evaluate(back, DATA) == evaluate(first, DATA)


def test_scores_and_decisions_are_written(result: FitResult, folder: Path) -> None:
    data = json.loads((folder / "graph.json").read_text())
    graph = ClassGraph.from_json(DATA.schema, data)
    assert graph == result.graph
    for row, edge, score in zip(
        data["table"], graph.space.edges, result.evidence.score, strict=True
    ):
        assert row["edge"] == str(edge)
        assert row["score"] == (None if np.isnan(score) else score)
        assert (row["decision"] == "yes") == (edge in graph)


# ---------------------------------------------------------------- missing and broken files


@pytest.mark.parametrize("name", ["config", "schema", "graph", "history"])
def test_missing_json(name: str, folder: Path) -> None:
    (folder / f"{name}.json").unlink()
    message = f"Run folder {folder}: expected a file {name}.json, got a folder without it."
    with pytest.raises(ModelError, match=f"^{re.escape(message)} Give a folder that"):
        load(folder)


def test_missing_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"model\.safetensors` is missing from the run\. Take"):
        load(folder)


@pytest.mark.parametrize("ask", [load, resume])
def test_missing_folder(ask: Any, tmp_path: Path) -> None:
    message = r"^Run folder .*nowhere: expected a file config\.json, got no such folder\. Give a"
    with pytest.raises(ModelError, match=message):
        ask(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["config", "schema", "graph", "history"])
def test_truncated_json(name: str, folder: Path) -> None:
    path = folder / f"{name}.json"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ModelError, match=rf"{name}\.json: not readable as JSON .*cut off\?$"):
        load(folder)


@pytest.mark.parametrize("keep", [0, 5, 0.01, 0.5, -1])
def test_truncated_weights(keep: float, folder: Path) -> None:
    path = folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if 0 < keep < 1 else int(keep)])
    with pytest.raises(ModelError, match=r"not readable as weights \(.*\)\. The file is damaged"):
        load(folder)


@pytest.mark.parametrize("keep", [0, 5, 0.01, 0.5, -1])
def test_truncated_checkpoint(keep: float, tmp_path: Path) -> None:
    interrupted(tmp_path)
    path = tmp_path / CHECKPOINT
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if 0 < keep < 1 else int(keep)])
    with pytest.raises(ModelError, match=r"not readable as weights \(.*\)\. The file is damaged"):
        resume(tmp_path, DATA)
    assert not (tmp_path / "model.safetensors").exists()


def test_weights_are_not_a_checkpoint(folder: Path) -> None:
    (folder / CHECKPOINT).parent.mkdir()
    (folder / "model.safetensors").rename(folder / CHECKPOINT)
    (folder / "history.json").unlink()
    with pytest.raises(ModelError, match=r"not a checkpoint of this version\.$"):
        resume(folder, DATA)


def test_a_checkpoint_of_other_settings(tmp_path: Path) -> None:
    interrupted(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["method"]["schedule"]["optimiser"] = "adam"
    (tmp_path / "config.json").write_text(json.dumps(config))
    message = (
        f"{tmp_path / 'config.json'}: expected the settings that the run was begun with, but "
        "`method.schedule.optimiser` was 'eigen-adam' and is 'adam'. Put them back, or fit anew "
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}"):
        resume(tmp_path, DATA)


@pytest.mark.parametrize("text", ["{}", "[]", '{"method": {}}', '{"seed": 0}'])
def test_config_without_settings(text: str, folder: Path) -> None:
    (folder / "config.json").write_text(text)
    for ask in (load, resume):
        with pytest.raises(ModelError):
            ask(folder)


def test_config_of_an_unknown_method(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["method"]["name"] = "oocd"
    (folder / "config.json").write_text(json.dumps(config))
    message = f"Run {folder}: unknown method `oocd`. Did you mean `oocdm`? Known: "
    with pytest.raises(ModelError, match=f"^{re.escape(message)}"):
        load(folder)


def rewrite_format(folder: Path, number: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    if number is None:
        del config["format"]
    else:
        config["format"] = number
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("number", [4, 6, "5", None])
def test_a_run_of_another_format_is_refused(number: Any, folder: Path, tmp_path: Path) -> None:
    """Finished or not, by whoever reads it, with what to do."""
    unfinished = tmp_path / "unfinished"
    interrupted(unfinished)
    for path, ask in (
        (folder, load),
        (folder, lambda path: resume(path, DATA)),
        (unfinished, load),
        (unfinished, lambda path: resume(path, DATA)),
    ):
        rewrite_format(path, number)
        message = (
            f"Run {path}: expected a run of format 5, got {number!r}: another version of oocdm "
            "wrote it; read it with that version, or fit its data again."
        )
        with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
            ask(path)
        rewrite_format(path, 5)
    load(folder)
    resume(unfinished, DATA)


# ---------------------------------------------------------------- strict reading

CONFIGS: dict[str, tuple[dict[str, Any], str]] = {
    "method": ({"method": None}, "`method`: expected "),
    "seed": ({"seed": -1}, "`seed`: expected a whole number of at least 0, got -1."),
    "text": ({"seed": "0"}, "`seed`: expected a whole number"),
    "threads": ({"threads": 5000}, "`threads`: expected a whole number from 1 to 1024, got 5000."),
    "priors": ({"priors": "/etc/hostname"}, "`priors`: expected "),
    "seconds": ({"max_seconds": -1}, "`max_seconds`: expected "),
    "unknown": ({"sede": 1}, "there is no `sede`. Did you mean `seed`?"),
    "counts": ({"counts": {"Ant": "many"}}, "`counts.Ant`: expected a whole number"),
    "notes": ({"notes": 3}, "`notes`: expected "),
}


@pytest.mark.parametrize(("change", "message"), CONFIGS.values(), ids=CONFIGS)
def test_settings_that_mean_nothing(change: dict[str, Any], message: str, folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    for ask in (load, resume):
        with pytest.raises(ModelError, match=f"^{re.escape(f'{path}: {message}')}"):
            ask(folder)


def test_all_that_is_wrong_with_settings_is_told_at_once(folder: Path) -> None:
    path = folder / "config.json"
    config = {**json.loads(path.read_text()), "seed": True, "more": 1}
    del config["notes"]
    path.write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"config\.json: 3 problems:\n"):
        load(folder)


HISTORIES: dict[str, tuple[Any, str]] = {
    "rounds": ({"seconds": 1.0, "settled": True}, "`rounds` is missing."),
    "list": ([], "expected "),
    "seconds": (
        {"seconds": None, "settled": True, "rounds": []},
        "`seconds`: expected a number",
    ),
    "settled": ({"seconds": 1.0, "settled": 1, "rounds": []}, "`settled`: expected "),
    "round": (
        {"seconds": 1.0, "settled": True, "rounds": [{"phase": "sleep"}]},
        "6 problems:\n",
    ),
    "edges": (
        {
            **{"seconds": 1.0, "settled": True},
            "rounds": [
                {
                    **{"phase": "learn", "step": 1, "loss": 0.1, "ran_out": False, "seconds": 0.1},
                    "edges": 10**9,
                }
            ],
        },
        "round 0: `edges`: expected at most the ",
    ),
}


@pytest.mark.parametrize(("history", "message"), HISTORIES.values(), ids=HISTORIES)
def test_a_history_that_is_none(history: Any, message: str, folder: Path) -> None:
    (folder / "history.json").write_text(json.dumps(history))
    with pytest.raises(ModelError, match=re.escape(f"history.json: {message}")):
        load(folder)


def add_edge(graph: dict[str, Any]) -> None:
    graph["edges"] = [graph["table"][0]["edge"]]


def decide_otherwise(graph: dict[str, Any]) -> None:
    row = next(row for row in graph["table"] if row["decision"] != "required")
    row["decision"] = "required"


def predict_without(graph: dict[str, Any]) -> None:
    graph["edges"] = [graph["table"][0]["edge"]]
    graph["table"][0].update(decision="yes", predicts=False)


def predict_with_no_cause(graph: dict[str, Any]) -> None:
    graph["table"][0].update(decision="no", predicts=True)


def say_twice(graph: dict[str, Any]) -> None:
    graph["edges"] = 2 * [graph["table"][0]["edge"]]


GRAPHS: dict[str, tuple[Any, str]] = {
    "twice": (say_twice, "expected every edge once, got `Ant.x <- self.x` 2 times."),
    "limit": (
        lambda g: g["table"][0].update(limit=-1),
        "`limit`: expected a number of at least 0, got -1",
    ),
    "predicts": (lambda g: g["table"][0].pop("predicts"), "table: `predicts`: `[0]`: expected "),
    "without": (predict_without, "undecided ones alone, but it is false of `"),
    "no cause": (predict_with_no_cause, "undecided ones alone, but it is true of `"),
    "edge": (add_edge, "`edges` and `table` disagree about 1, such as `Ant.x <- self.x`. Change"),
    "decision": (decide_otherwise, "`edges` and `table` disagree about 1, such as `"),
    "score": (lambda g: g["table"][0].update(score="high"), "`[0].score`: expected a number"),
    "row": (lambda g: g["table"].__setitem__(0, 7), "`[0]`: expected "),
    "table": (lambda g: g.update(table=None), "Evidence: expected a list, got None."),
    "edges": (lambda g: g.update(edges=3), "expected a JSON object with a list under the key"),
}


@pytest.mark.parametrize(("change", "message"), GRAPHS.values(), ids=GRAPHS)
def test_a_graph_that_is_none(change: Any, message: str, folder: Path) -> None:
    path = folder / "graph.json"
    graph = json.loads(path.read_text())
    change(graph)
    path.write_text(json.dumps(graph))
    with pytest.raises(GraphError, match=rf"^{re.escape(str(path))}: .*{re.escape(message)}"):
        load(folder)


SEEN: dict[str, tuple[Any, str]] = {
    "list": (lambda s: [], "expected "),
    "field": (lambda s: s.pop("Ant.x"), "another list: `Ant.x` is in one of them alone."),
    "count": (lambda s: s["Ant.x"].update(count=-1), "expected a whole number of at least 0"),
    "sizes": (lambda s: s["Ant.x"].update(low=[]), "expected 1 numbers of each kind and 0 shares"),
    "order": (lambda s: s["Ant.x"].update(low=[1e9]), "least <= low <= high <= most"),
}


@pytest.mark.parametrize(("change", "message"), SEEN.values(), ids=SEEN)
def test_what_was_seen_that_is_none(change: Any, message: str, folder: Path) -> None:
    path = folder / "seen.json"
    seen = json.loads(path.read_text())
    changed = change(seen)
    path.write_text(json.dumps(seen if changed != [] else []))
    with pytest.raises(ModelError, match=rf"seen\.json: .*{re.escape(message)}"):
        load(folder)


# ---------------------------------------------------------------- files that are as they were


def change_weight(path: Path, value: float, prefix: str = "") -> str:
    """Change the first number of the first weight, as another tool could; its name."""
    tensors, metadata = from_bytes(path.read_bytes(), path, ModelError)
    numbers = [n for n, t in tensors.items() if t.is_floating_point() and t.numel()]
    name = next(n for n in sorted(numbers) if n.startswith(prefix))
    tensors[name].view(-1)[0] = value
    if "checksum" in metadata:
        metadata.pop("checksum")
        metadata["checksum"] = checksum_of(tensors, metadata)
    path.write_bytes(to_bytes(tensors, metadata))
    return name


def test_a_changed_weight_is_refused_until_it_is_accepted(
    result: FitResult, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    result.save(tmp_path)
    name = change_weight(tmp_path / "model.safetensors", 0.25)
    with pytest.raises(ModelError, match=r"model\.safetensors` is not as it was when .*oocdm acc"):
        load(tmp_path)
    accept_changes(tmp_path)
    assert load(tmp_path).model.state_dict()[name].view(-1)[0] == 0.25
    assert caplog.text == ""


def test_a_run_without_a_manifest_says_so(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    load(folder)
    assert f"`{folder}` has no manifest.json, so damage to its files may go" in caplog.text


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_that_are_not_finite(value: float, folder: Path) -> None:
    path = folder / "learned.safetensors"
    parameter = next(iter(dict(load(folder).model.named_parameters())))
    change_weight(path, value, parameter)
    message = f"{path}: `{parameter}`: expected finite numbers, got NaN or infinity."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}"):
        load(folder)


def test_weights_of_another_type(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors, metadata = from_bytes(path.read_bytes(), path, ModelError)
    path.write_bytes(to_bytes({n: t.double() for n, t in tensors.items()}, metadata))
    with pytest.raises(ModelError, match=r"`: expected weights of type torch\.\w+, got torch\.fl"):
        load(folder)


@pytest.mark.parametrize("prefix", ["model/", "optimiser/"])
def test_a_checkpoint_that_is_not_finite(prefix: str, tmp_path: Path) -> None:
    interrupted(tmp_path, method=Oofull(schedule=replace(QUICK, iterations=2)))
    name = change_weight(tmp_path / CHECKPOINT, math.nan, prefix)
    short = name.removeprefix("model/")
    with pytest.raises(
        ModelError, match=rf"`{re.escape(short)}`: expected finite numbers|`{short}` is not a"
    ):
        resume(tmp_path, DATA)


def test_a_flipped_bit_of_a_checkpoint_is_noticed(tmp_path: Path) -> None:
    interrupted(tmp_path)
    path = tmp_path / CHECKPOINT
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for place in [*range(0, 200, 20), *rng.integers(len(whole), size=30).tolist()]:
        content = bytearray(whole)
        content[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)
        with pytest.raises(ModelError, match=r"last\.safetensors"):
            resume(tmp_path, DATA)
    path.write_bytes(whole)
    resume(tmp_path, DATA)


def test_nothing_of_a_run_is_a_link(tmp_path: Path) -> None:
    interrupted(tmp_path / "run")
    checkpoints = (tmp_path / "run" / CHECKPOINT).parent
    checkpoints.rename(tmp_path / "theirs")
    checkpoints.symlink_to(tmp_path / "theirs")
    before = {p: p.read_bytes() for p in (tmp_path / "theirs").iterdir()}
    with pytest.raises(FileError, match=r"checkpoints`: expected a folder, got a link\."):
        resume(tmp_path / "run", DATA)
    assert {p: p.read_bytes() for p in (tmp_path / "theirs").iterdir()} == before


# ---------------------------------------------------------------- a user's own notes


def test_notes_are_kept_and_overrule_nothing(tmp_path: Path) -> None:
    notes = {"seed": 99, "method": None, "who": ["me"]}
    result = fit(DATA, FULL, folder=tmp_path / "run", notes=notes)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["notes"] == notes and config["seed"] == 0
    assert load(tmp_path / "run").method == FULL
    result.save(tmp_path / "copy", notes=notes)
    assert json.loads((tmp_path / "copy" / "config.json").read_text())["notes"] == notes


@pytest.mark.parametrize("notes", [{"a": object()}, {"a": math.nan}])
def test_notes_that_json_cannot_hold(notes: Any, tmp_path: Path, result: FitResult) -> None:
    message = r"`notes`: expected a mapping that JSON can hold, got "
    with pytest.raises(ModelError, match=f"^fit: {message}"):
        fit(DATA, FULL, folder=tmp_path / "run", notes=notes)
    with pytest.raises(ModelError, match=f"^save: {message}"):
        result.save(tmp_path / "run", notes=notes)
    assert not (tmp_path / "run").exists()


# ---------------------------------------------------------------- kills, races, full disks


def assert_same(one: FitResult, other: FitResult) -> None:
    assert one.graph == other.graph and one.evidence == other.evidence
    for a, b in ((one.model, other.model), (one.learned, other.learned)):
        ours, theirs = a.state_dict(), b.state_dict()
        assert list(ours) == list(theirs)
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_run_that_is_killed_anywhere_can_go_on(tmp_path: Path) -> None:
    whole = fit(DATA, FULL, folder=tmp_path / "whole")
    files = {path.name for path in (tmp_path / "whole").iterdir()}
    before, folder = 0, tmp_path / "0"
    while killed(partial(fit, DATA, FULL, folder=folder), before):
        is_begun = (folder / "config.json").is_file()
        again = resume(folder, DATA) if is_begun else fit(DATA, FULL, folder=folder)
        assert_same(again, whole)
        assert_same(load(folder), whole)
        assert {path.name for path in folder.iterdir()} == files
        before += 7
        folder = tmp_path / str(before)
    assert before > 30


def test_a_killed_save_can_be_repeated(result: FitResult, tmp_path: Path) -> None:
    before, folder = 0, tmp_path / "run"
    while killed(lambda: result.save(folder), before):
        assert not folder.exists() or load(folder).graph == result.graph
        if not folder.exists():
            result.save(folder)
        assert_same(load(folder), result)
        assert [path.name for path in tmp_path.iterdir()] == ["run"]
        shutil.rmtree(folder)
        before += 9
    assert before > 20


def test_where_nothing_was_done_yet(tmp_path: Path) -> None:
    for name in (".oocdm-0123456789abcdef", ".lock", "schema.json"):
        (tmp_path / name).touch()
    message = "expected a file config.json, got a folder without it. .* give the same command again"
    with pytest.raises(ModelError, match=message):
        resume(tmp_path, DATA)
    fit(DATA, FULL, folder=tmp_path)
    assert ".oocdm-0123456789abcdef" not in {path.name for path in tmp_path.iterdir()}


def test_two_trainings_do_not_share_a_folder(tmp_path: Path) -> None:
    told = []

    def try_too(progress: Any) -> None:
        for ask in (lambda: fit(DATA, FULL, folder=tmp_path), lambda: resume(tmp_path, DATA)):
            with pytest.raises(OocdmError) as caught:
                ask()
            told.append(str(caught.value))

    whole = fit(DATA, FULL, folder=tmp_path, callback=try_too)
    assert_same(load(tmp_path), whole)
    assert told[0].startswith(f"fit: folder {tmp_path} holds a run already.")
    assert told[1].startswith(f"resume: folder {tmp_path} is being written to by process ")
    assert not (tmp_path / ".lock").exists()


def test_a_training_that_begins_is_not_disturbed(tmp_path: Path) -> None:
    with (
        locked("fit", tmp_path),
        pytest.raises(FileError, match=rf"^fit: folder {tmp_path} is being written to by process"),
    ):
        fit(DATA, FULL, folder=tmp_path)


def test_a_resumed_run_has_the_threads_of_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, seen = [7], []  # only said: so many would take long
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads[-1])
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    interrupted(tmp_path)
    threads.append(1)
    resume(tmp_path, DATA, lambda progress: seen.append(threads[-1]))
    assert set(seen) == {7} and threads[-1] == 1


def test_a_full_disk_names_the_file_and_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = os.replace

    def fill(source: Any, target: Any) -> None:
        if Path(target).name == "graph.json":
            raise OSError(28, "No space left on device")
        replaced(source, target)

    monkeypatch.setattr(os, "replace", fill)
    message = (
        f"`{tmp_path / 'graph.json'}` cannot be written: No space left on device. Free some space, "
        "or choose another disk. Then go on with the run: oocdm.resume or `oocdm resume "
        f"{tmp_path}`."
    )
    with pytest.raises(FileError, match=f"^{re.escape(message)}$"):
        fit(DATA, FULL, folder=tmp_path)
    monkeypatch.undo()
    assert_same(resume(tmp_path, DATA), fit(DATA, FULL))


def test_changes_of_an_unfinished_run_do_not_finish_it(tmp_path: Path) -> None:
    interrupted(tmp_path)
    accept_changes(tmp_path)
    with pytest.raises(ModelError, match="is not finished"):
        load(tmp_path)
    assert_same(resume(tmp_path, DATA), fit(DATA, FULL))
    load(tmp_path)


# ---------------------------------------------------------------- methods of one's own


@dataclass(frozen=True)
class Mine(Oofull):
    """A method that no package adds."""

    name: ClassVar[str] = "mine"
    zeal: int = 1


def test_a_method_of_one_s_own_is_read_with_its_class(tmp_path: Path) -> None:
    result = fit(DATA, Mine(schedule=QUICK, zeal=3), folder=tmp_path / "run")
    for back in (load(tmp_path / "run", Mine), resume(tmp_path / "run", method=Mine)):
        assert back.method == result.method
        assert evaluate(back, DATA) == evaluate(result, DATA)
    interrupted(tmp_path / "cut", method=Mine(schedule=QUICK, zeal=3))
    again = resume(tmp_path / "cut", DATA, method=Mine)
    assert again.method == result.method
    assert all(map(torch.equal, again.model.parameters(), result.model.parameters()))
    for folder, ask in ((tmp_path / "run", load), (tmp_path / "run", resume)):
        with pytest.raises(ModelError, match=r"unknown method `mine`\. .* give its class: oocdm\."):
            ask(folder)


def test_what_is_not_the_class_of_a_run_s_method(folder: Path) -> None:
    message = f"Run {folder}: expected the class of the method `oocdm`, got that of `mine`."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        load(folder, Mine)
    with pytest.raises(ModelError, match=r"expected the class of the method `oocdm`, got 'oocdm'"):
        load(folder, "oocdm")  # type: ignore[arg-type]


def test_what_is_no_method() -> None:
    with pytest.raises(ModelError, match=r"<class .*Mine'>\. Make one of the class: Mine\(\)\.$"):
        fit(DATA, Mine)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"^fit: `method`: expected a method's name.* got 3\.$"):
        fit(DATA, 3)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Unnamed(Oofull):
    """A method with the name of another."""


def test_a_method_with_the_name_of_another_would_be_read_as_that() -> None:
    message = "fit: `method`: the class Unnamed has the name `oofull` of another method, as which "
    with pytest.raises(ModelError, match=f"^{re.escape(message)}"):
        fit(DATA, Unnamed(schedule=QUICK))


# ---------------------------------------------------------------- another schema


def test_schema_of_another_run(folder: Path) -> None:
    (folder / "schema.json").write_text(json.dumps(OTHER.schema.to_json()))
    with pytest.raises(ModelError, match=r"the weights do not fit the run's schema\."):
        load(folder)


def test_graph_of_another_run(folder: Path) -> None:
    graph = {"edges": ["Mouse.x <- self.x"]}
    (folder / "graph.json").write_text(json.dumps(graph))
    with pytest.raises(OocdmError, match=r"graph\.json: Unknown class `Mouse`"):
        load(folder)


def test_data_of_another_schema_to_evaluate(result: FitResult) -> None:
    with pytest.raises(DataError, match=r"^This dataset does not fit the model\. First difference"):
        evaluate(result, OTHER)


def test_data_of_another_schema_to_resume(tmp_path: Path) -> None:
    interrupted(tmp_path)
    with pytest.raises(DataError, match=rf"^This dataset does not fit run {tmp_path}\. First"):
        resume(tmp_path, OTHER)


# ---------------------------------------------------------------- where a run's data are


def test_resume_reads_the_data_that_the_config_names(tmp_path: Path) -> None:
    DATA.save(tmp_path / "data")
    stored = load_dataset(tmp_path / "data")
    interrupted(tmp_path / "run", stored, data_folder=tmp_path / "data")
    found = resume(tmp_path / "run")
    whole = fit(stored, Oofull(schedule=QUICK))
    assert all(map(torch.equal, found.model.parameters(), whole.model.parameters()))
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["data"] == str(tmp_path / "data")


def test_resume_without_data(tmp_path: Path) -> None:
    interrupted(tmp_path)
    message = f"Run {tmp_path} does not say where its data are: pass data=."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        resume(tmp_path)


def test_resume_with_data_that_are_gone(tmp_path: Path) -> None:
    DATA.save(tmp_path / "data")
    interrupted(tmp_path / "run", data_folder=tmp_path / "data")
    shutil.rmtree(tmp_path / "data")
    with pytest.raises(DataError, match=r"expected a dataset folder, got none"):
        resume(tmp_path / "run")


def test_resuming_a_finished_run_returns_it(folder: Path, result: FitResult) -> None:
    found = resume(folder)
    assert found.graph == result.graph and found.history == result.history


def test_a_finished_run_has_no_checkpoint(tmp_path: Path) -> None:
    interrupted(tmp_path)
    resume(tmp_path, DATA)
    assert not (tmp_path / CHECKPOINT).exists()
    assert {p.name for p in tmp_path.iterdir()} >= {"model.safetensors", "metrics.jsonl"}
    rows = [json.loads(row) for row in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert rows == load(tmp_path).history


def test_a_new_run_is_not_mixed_with_an_old_one(folder: Path) -> None:
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(ModelError, match="holds a run already"):
        fit(DATA, Oofull(schedule=QUICK), folder=folder)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_run_that_was_killed_while_it_tidied_up_is_tidied_up(folder: Path) -> None:
    """The checkpoint was removed already, its folder and the lock were not."""
    before = load(folder)
    (folder / CHECKPOINT).parent.mkdir()
    (folder / ".lock").touch()
    names = {path.name for path in folder.iterdir()}
    after = resume(folder)
    assert after.graph == before.graph
    assert names - {path.name for path in folder.iterdir()} == {"checkpoints", ".lock"}


def test_an_edited_likelihood_is_told(tmp_path: Path) -> None:
    interrupted(tmp_path)
    path = tmp_path / "schema.json"
    schema = json.loads(path.read_text())
    schema["classes"]["Ant"]["x"]["likelihood"] = "mixture"
    path.write_text(json.dumps(schema))
    message = (
        f"{path}: expected the settings that the run was begun with, but "
        "`classes.Ant.x.likelihood` was 'auto' and is 'mixture'."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}"):
        resume(tmp_path, DATA)


def test_a_graph_says_nothing_that_nobody_knows(folder: Path) -> None:
    path = folder / "graph.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "egdes": []}))
    with pytest.raises(
        GraphError, match=r"graph\.json: there is no `egdes`\. Did you mean `edges`"
    ):
        load(folder)


def test_what_is_no_folder_of_checkpoints_is_not_waited_for(
    result: FitResult, tmp_path: Path
) -> None:
    result.save(tmp_path / "run")
    os.mkfifo(tmp_path / "run" / "checkpoints")
    with pytest.raises(FileError, match=r"checkpoints`: expected a folder, got a file\."):
        resume(tmp_path / "run", DATA)
    assert load(tmp_path / "run").graph == result.graph


def test_of_two_who_save_at_once_one_is_told(
    result: FitResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = FitResult.write

    def late(self: FitResult, path: Path) -> None:
        monkeypatch.undo()
        result.save(tmp_path / "run")
        write(self, path)

    monkeypatch.setattr(FitResult, "write", late)
    with pytest.raises(FileError, match="was written by somebody else meanwhile"):
        result.save(tmp_path / "run")
    assert load(tmp_path / "run").graph == result.graph
