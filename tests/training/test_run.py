"""The folder of a run, and clear errors for what is missing or broken."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
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
    evaluate,
    fit,
    load,
    load_dataset,
    resume,
)
from oocdm.errors import DataError, ModelError, OocdmError
from oocdm.files.manifest import MANIFEST
from oocdm.graph import ClassGraph
from oocdm.methods import AbstractMethod
from oocdm.training.run import CHECKPOINT
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
        if progress.phase == "polish":
            raise Interrupt

    with pytest.raises(Interrupt):
        fit(logged, method, folder=folder, callback=stop, **where)
    assert (folder / CHECKPOINT).is_file()


# ---------------------------------------------------------------- save and load


def test_the_files_of_a_run(folder: Path) -> None:
    assert {p.name for p in folder.iterdir()} == {
        *("config.json", "schema.json", "graph.json", "model.safetensors", "history.json"),
        "learned.safetensors",
    }
    table = json.loads((folder / "graph.json").read_text())["table"]
    assert len(table) == len(ClassGraph.full(DATA.schema).mask)
    columns = ("edge", "score", "low", "high", "p_value", "stability", "decision")
    assert {tuple(row) for row in table} == {columns}


def test_save_and_load(result: FitResult, folder: Path) -> None:
    back = load(folder)
    assert back.graph == result.graph and back.schema == result.schema
    assert (back.method, back.seed) == (result.method, result.seed)
    assert (back.history, back.seconds) == (result.history, result.seconds)
    assert back.evidence.rows() == result.evidence.rows()
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
    with pytest.raises(ModelError, match=r"model\.safetensors: no such file\. Train first"):
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


@pytest.mark.parametrize("number", [2, 4, "3", None])
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
            f"Run {path}: expected a run of format 3, got {number!r}: another version of oocdm "
            "wrote it; read it with that version, or fit its data again."
        )
        with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
            ask(path)
        rewrite_format(path, 3)
    load(folder)
    resume(unfinished, DATA)


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
