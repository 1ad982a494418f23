"""A user's mistake ends with exit code 2 and a message, and nothing is left half-written."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from oocdm.cli import app

Error = Callable[..., str]


def cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def change(path: Path, name: str, column: pa.Array) -> None:
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.column_names.index(name), name, column), path)


def put(path: Path, row: int, value: float) -> None:
    cells = pq.read_table(path)["s1"].to_numpy().copy()
    cells[row] = value
    change(path, "s1", pa.array(cells, from_pandas=False))


def rename(path: Path, old: str, new: str) -> None:
    table = pq.read_table(path)
    pq.write_table(table.rename_columns([new if n == old else n for n in table.column_names]), path)


def spell_out(path: Path) -> None:
    change(path, "s1", pa.array([str(x) for x in pq.read_table(path)["s1"].to_pylist()]))


def pair_up(path: Path) -> None:
    cells = pq.read_table(path)["s1"].to_pylist()
    change(path, "s1", pa.array([[x, x] for x in cells], type=pa.list_(pa.float32(), 2)))


def empty(path: Path) -> None:
    for file in path.parent.glob("*.parquet"):
        pq.write_table(pq.read_table(file).slice(0, 0), file)


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (cut, "`{path}` cannot be read as Parquet; it may be cut off or damaged"),
    "missing": (Path.unlink, "`{path}` is missing from the dataset folder"),
    "nan": (
        lambda path: put(path, 7, np.nan),
        "Field `Block.s1`: expected a finite number, got NaN at episode 0, step 3, object 1.",
    ),
    "infinite": (
        lambda path: put(path, 7, np.inf),
        "Field `Block.s1`: expected a number from -1e+18 to 1e+18, got inf at episode 0, step 3, "
        "object 1. If it stands for an unknown value, blank it; otherwise choose another unit, or "
        "subtract a number near all of them.",
    ),
    "unknown field": (
        lambda path: rename(path, "s1", "S1"),
        "`{path}`: unknown column `S1`. Did you mean `s1`?",
    ),
    "dtype": (spell_out, "Field `Block.s1`: expected numbers, got a column of dtype object"),
    "shape": (
        pair_up,
        "Field `Block.s1`: expected numbers, got a column of dtype object, with array",
    ),
    "duplicate": (
        lambda path: change(path, "object", pa.array(np.zeros(pq.read_table(path).num_rows, int))),
        "Class `Block`: expected one row for each object in a step, got two for episode 0, step 0, "
        "object 0.",
    ),
    "empty": (empty, "The dataset is empty: expected at least two steps of one episode, got 0."),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILT.values(), ids=SPOILT)
def test_spoilt_dataset(
    spoil: Callable[[Path], object], message: str, my_block: Path, tmp_path: Path, error: Error
) -> None:
    path = my_block / "Block.parquet"
    (my_block / "manifest.json").unlink()
    spoil(path)
    said = error("train", my_block, "-o", tmp_path / "run")
    assert message.format(path=path) in said
    assert not (tmp_path / "run").exists()


def test_missing_dataset(tmp_path: Path, error: Error) -> None:
    said = error("train", tmp_path / "none", "-o", tmp_path / "run", "--json")
    assert f"`{tmp_path / 'none'}`: expected a dataset folder, got none." in said
    assert not (tmp_path / "run").exists()


def test_truncated_schema(my_block: Path, tmp_path: Path, error: Error) -> None:
    cut(my_block / "schema.json")
    said = error("train", my_block, "-o", tmp_path / "run")
    assert f"`{my_block / 'schema.json'}` is not as it was when" in said
    (my_block / "manifest.json").unlink()
    said = error("train", my_block, "-o", tmp_path / "run")
    assert f"{my_block / 'schema.json'}: not readable as JSON" in said


TRAIN: dict[str, tuple[list[str], str]] = {
    "method": (["--method", "oocmd"], "Unknown method `oocmd`. Did you mean `oocdm`?"),
    "preset": (["--preset", "papr"], "Unknown preset `papr`. Did you mean `paper`?"),
    "threshold": (
        ["--method", "oofull", "--threshold", "1"],
        "Method `oofull`: there is no `threshold`.",
    ),
    "option": (
        ["--method", "grader", "--option", "max_sample=9"],
        "Method `grader`: there is no `max_sample`. Did you mean `max_samples`?",
    ),
    "value": (
        ["--method", "grader", "--option", "workers=many"],
        "Method `grader`: `workers`: expected a whole number from 1 to 1024 or None, got 'many'.",
    ),
    "name": (["--option", "name=cdl"], "Method `oocdm`: there is no `name`."),
    "form": (["--option", "threshold"], "--option: expected the form `name=value`, got `thre"),
    "part": (
        ["--option", "schedule=3"],
        "`schedule`: expected a Schedule or a mapping of its parts, got",
    ),
    "widths": (
        ["--method", "gnn", "--option", "widths={nodes: 16}"],
        "Method `gnn`: `widths`: there is no `nodes`. Did you mean `node`?",
    ),
    "twice": (
        ["--option", "threshold=0.3", "--option", "threshold=0.5"],
        "--option: expected `threshold` once, got it twice. Leave one out.",
    ),
    "flag": (
        ["--hide-variables", "0.1", "--option", "hide_variables=0.2"],
        "--hide-variables: expected `hide_variables` once, got it by --option as well. Leave one",
    ),
    "schedule": (
        ["--iterations", "3", "--option", "schedule={iterations: 2}"],
        "--iterations: expected `iterations` once, got it by --option as well. Leave one out.",
    ),
    "graph": (
        ["--graph", "nowhere.txt"],
        "`nowhere.txt` cannot be read: No such file or directory.",
    ),
}


@pytest.mark.parametrize(("options", "message"), TRAIN.values(), ids=TRAIN)
def test_bad_option_of_train(
    options: list[str], message: str, block: Path, tmp_path: Path, error: Error
) -> None:
    assert message in error("train", block, "-o", tmp_path / "run", *options)
    assert not (tmp_path / "run").exists()


GRAPHS = {
    "field": ("graph.txt", "Block.s2 <- self.S1", "Unknown field `Block.S1`. Did you mean `s1`?"),
    "class": ("graph.txt", "Block.s2 <- Totl[*].s1", "Unknown class `Totl`. Did you mean `Total`?"),
    "variable": (
        *("graph.txt", "Block[0].s2 <- Block[9].s1"),
        "Unknown variable `Block[9].s1`. Did you mean `Block[",
    ),
    "row": ("graph.txt", "Block.s2", "Graph row 'Block.s2': expected the form"),
    "json": ("graph.json", '{"edges": [', "graph.json: not readable as JSON"),
    "list": ("graph.json", "[]", 'expected a JSON object with a list under the key "edges"'),
}


@pytest.mark.parametrize(("name", "text", "message"), GRAPHS.values(), ids=GRAPHS)
def test_bad_graph(
    name: str, text: str, message: str, block: Path, tmp_path: Path, error: Error
) -> None:
    (tmp_path / name).write_text(text)
    assert message in error("train", block, "-o", tmp_path / "run", "--graph", tmp_path / name)
    assert not (tmp_path / "run").exists()


def test_train_does_not_touch_what_is_there(finished: Path, block: Path, error: Error) -> None:
    said = error("train", block, "-o", finished)
    assert f"train: folder {finished} holds a run already. Choose another folder" in said
    assert f"oocdm resume {finished}" in said


def test_train_needs_two_episodes(
    tmp_path: Path, error: Error, oocdm: Callable[..., object]
) -> None:
    oocdm("collect", "block", "--steps", "20", "-o", tmp_path / "data")
    said = error("train", tmp_path / "data", "-o", tmp_path / "run")
    assert "expected at least two episodes with transitions, got 1" in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("verb", ["eval", "discover"])
def test_dataset_of_another_schema(verb: str, finished: Path, mouse: Path, error: Error) -> None:
    said = error(verb, finished, "--data", mouse)
    assert "This dataset does not fit" in said
    assert "classes ['Mouse', 'Food', 'Monster', 'Trap'] against ['Block', 'Total']" in said


@pytest.mark.parametrize("verb", ["eval", "discover", "resume"])
@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "graph.json", "schema.json"])
def test_truncated_run(verb: str, name: str, my_run: Path, block: Path, error: Error) -> None:
    cut(my_run / name)
    data = [] if verb == "resume" else ["--data", str(block)]
    said = error(verb, my_run, *data)
    assert str(my_run / name) in said
    assert "cut off" in said


def test_missing_run(block: Path, tmp_path: Path, error: Error) -> None:
    for words in (["eval", "--data", block], ["discover", "--data", block], ["resume"]):
        said = error(words[0], tmp_path / "none", *words[1:])
        assert f"Run folder {tmp_path / 'none'}: expected a file config.json, got no such" in said
    assert not (tmp_path / "none").exists()


def test_unfinished_run(interrupted: Path, block: Path, error: Error) -> None:
    said = error("eval", interrupted, "--data", block)
    assert f"Run {interrupted} is not finished. Go on with it: oocdm.resume or `oocdm" in said


def test_truncated_checkpoint(interrupted: Path, error: Error) -> None:
    path = interrupted / "checkpoints" / "last.safetensors"
    cut(path)
    before = sorted(interrupted.rglob("*"))
    said = error("resume", interrupted)
    assert f"{path}: not readable as weights" in said
    assert "damaged or cut off" in said
    assert sorted(interrupted.rglob("*")) == before


def test_resume_with_other_data(interrupted: Path, mouse: Path, error: Error) -> None:
    said = error("resume", interrupted, "--data", mouse)
    assert f"This dataset does not fit run {interrupted}." in said


def test_resume_without_its_data(interrupted: Path, tmp_path: Path, error: Error) -> None:
    config = json.loads((interrupted / "config.json").read_text())
    config["data"] = str(tmp_path / "gone")
    (interrupted / "config.json").write_text(json.dumps(config))
    said = error("resume", interrupted)
    assert f"`{tmp_path / 'gone'}`: expected a dataset folder, got none." in said


def test_discover_without_discovery(
    block: Path, quick: list[str], tmp_path: Path, error: Error, oocdm: Callable[..., object]
) -> None:
    run = tmp_path / "run"
    oocdm("train", block, "-o", run, "--method", "oofull", *quick)
    said = error("discover", run, "--data", block)
    assert "Method `oofull` does not discover a graph." in said
    said = error("discover", run, "--data", block, "--threshold", "1")
    assert "Method `oofull` has no threshold." in said


COLLECT: dict[str, tuple[list[str], str]] = {
    "env": (
        ["blok"],
        "Unknown environment `blok`. Did you mean `block`? Known: block, asymblock, mouse, walker, "
        "generated.",
    ),
    "option": (
        ["mouse", "--num-blocks", "2"],
        "Environment `mouse` has no option `num_blocks`.",
    ),
    "variant": (["block", "--variant", "papr"], "Option `variant`: unknown value 'papr'."),
    "count": (["block", "--num-blocks", "few"], "Option --num-blocks: expected a number"),
    "steps": (["block", "--steps", "0"], "`steps`: expected a whole number of at least 1, got 0."),
}


@pytest.mark.parametrize(("words", "message"), COLLECT.values(), ids=COLLECT)
def test_bad_option_of_collect(
    words: list[str], message: str, tmp_path: Path, error: Error
) -> None:
    assert message in error("collect", *words, "-o", tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_collect_overwrites_only_datasets(block: Path, tmp_path: Path, error: Error) -> None:
    said = error("collect", "block", "-o", block)
    assert f"`{block}` exists already. Choose another folder, or pass --overwrite." in said
    (tmp_path / "letters").mkdir()
    said = error("collect", "block", "-o", tmp_path / "letters", "--overwrite", "--steps", "30")
    assert "is not a dataset folder, so it is not overwritten." in said


def test_demo_overwrites_only_demos(tmp_path: Path, error: Error) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").touch()
    said = error("demo", "--quick", "-o", tmp_path)
    assert f"`{tmp_path / 'run'}` exists and is not a run. Choose another folder with -o." in said
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_bad_option_of_bench(error: Error) -> None:
    said = error("bench", "paper", "--env", "blok5")
    assert "Unknown experiment `blok5`. Did you mean `block5`?" in said
    assert "expected --env, --table graphs, returns or unseen, or both" in error("bench", "paper")
    assert "or both --env and one of" in error("bench", "paper", "--table", "size")
    said = error("bench", "paper", "--table", "graph")
    assert "expected graphs, aill, time, size, returns, unseen, got 'graph'." in said
    said = error("bench", "paper", "--env", "block5", "--seeds", "a-b")
    assert "Option --seeds: expected such as 0, 0-2 or 0,3,7, got 'a-b'." in said


def test_folder_that_cannot_be_written(block: Path, tmp_path: Path, error: Error) -> None:
    (tmp_path / "file").write_text("")
    assert "file" in error("collect", "block", "--steps", "30", "-o", tmp_path / "file" / "data")
    assert "file" in error("train", block, "-o", tmp_path / "file" / "run")


# ---------------------------------------------------------------- options and the system


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("num_graphs=0", "`num_graphs`: expected a whole number from 1 to 65536, got 0."),
        ("max_scored=0", "`max_scored`: expected a whole number of at least 1, got 0."),
        ("model={sigma_floor: -1}", "`model.sigma_floor`: expected a number above 0, got -1."),
        ("num_graphs=" + "9" * 10**5, "`num_graphs`: expected a whole number from 1 to 65536, got"),
        ("model=" + "[" * 10**4, "expected a ModelOptions or a mapping of its parts, got '[[[["),
        ("model=[&a [1], *a]", "expected a ModelOptions or a mapping of its parts, got '[&a [1]"),
    ],
)
def test_options_that_mean_nothing(
    option: str, message: str, error: Error, block: Path, tmp_path: Path
) -> None:
    told = error("train", block, "--option", option, "-o", tmp_path / "run")
    assert message in told
    assert len(told) < 500
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [("--seed", str(2**64)), ("--seed", "-1"), ("--threads", "5000"), ("--threads", "0")],
)
def test_numbers_out_of_range_are_wrong_usage(
    option: str, value: str, block: Path, tmp_path: Path
) -> None:
    words = ["train", block, option, value, "-o", tmp_path / "run"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 2
    assert f"Invalid value for '{option}'" in result.stderr
    assert not (tmp_path / "run").exists()


def test_paths_that_are_no_text(error: Error, block: Path, tmp_path: Path) -> None:
    path = os.fsdecode(bytes(tmp_path) + b"/\xff")
    told = error("train", block, "-o", path)
    assert "`output`: expected text in UTF-8, got b'" in told
    assert "expected text in UTF-8" in error("eval", path, "--data", block)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.EACCES, "Error: `some/file`: it may not be read or written. Change its permissions"),
        (errno.EISDIR, "Error: `some/file`: expected a file, got a folder.\n"),
        (errno.ENOSPC, "Error: `some/file`: the disk is full. Make room, then try again"),
        (errno.EIO, "Error: `some/file`: Input/output error\n"),
    ],
)
def test_what_the_system_refuses_is_told_in_words(
    number: int, message: str, error: Error, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError(number, os.strerror(number), "some/file")

    monkeypatch.setattr("oocdm.list_envs", refuse)
    assert error("envs").startswith(message)


def test_a_long_name_is_not_told_whole(error: Error, block: Path) -> None:
    assert len(error("eval", "x" * 10**5, "--data", block)) < 1000
