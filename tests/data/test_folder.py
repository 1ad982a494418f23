from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from oocdm.data import Dataset, load_dataset
from oocdm.data import folder as folder_module
from oocdm.errors import DataError, FileError
from oocdm.files import Contents, accept_changes
from oocdm.schema import Integer, ObjectClass, Real, Schema
from oocdm.worlds import collect
from tests.data.mistakes import fails
from tests.files.killing import killed


class Dot(ObjectClass):
    v = Real()
    p = Real(shape=(2,))
    n = Integer()
    a = Real(action=True)


def assert_same(first, second):
    """Equal bit for bit."""
    assert first.schema == second.schema
    for name in ("episode", "step", "reward", "terminated", "truncated"):
        _same(getattr(first, name), getattr(second, name))
    for name in first.schema.classes:
        _same(first.present[name], second.present[name])
        used = _used(first, name)
        assert first.object_ids[name][used].tolist() == second.object_ids[name][used].tolist()
        for field in first.schema.fields(name):
            _same(first.values[name][field], second.values[name][field])
            _same(first.observed[name][field], second.observed[name][field])
    assert list(first.episodes) == list(second.episodes)
    for name, column in first.episodes.items():
        assert column.tolist() == second.episodes[name].tolist()


def _same(first, second):
    assert (first.dtype, first.shape) == (second.dtype, second.shape)
    assert first.tobytes() == second.tobytes()


def _used(data, name):
    """Which slots hold an object at some step of each episode."""
    index = np.searchsorted(data.episode_ids, data.episode)
    used = np.zeros(data.object_ids[name].shape, dtype=bool)
    np.logical_or.at(used, index, data.present[name])
    return used


def test_round_trip_of_collected_data(make_world, tmp_path):
    data = collect(make_world(noise=0.1), 500)
    data.save(tmp_path / "new" / "ants")
    again = load_dataset(tmp_path / "new" / "ants")
    assert_same(data, again)
    assert again.max_counts == data.max_counts
    assert len(set(_used(data, "Ant").sum(axis=1))) > 1  # the counts do differ


def test_round_trip_of_frames(frames, schema, tmp_path):
    about = pd.DataFrame({"episode": [0, 7], "map": ["big", "small"], "score": [1, None]})
    about["score"] = pd.array([1, None], dtype="Int64")
    data = Dataset.from_frames(frames, schema, episodes=about.astype({"score": object}))
    data.save(tmp_path / "ants")
    again = load_dataset(tmp_path / "ants")
    assert again.episodes["score"].tolist() == [1, None]
    assert again.object_ids["Ant"].tolist() == [["a", "b"], ["c", ""]]
    assert_same(load_dataset(tmp_path / "ants"), again)
    for field in schema.fields("Ant"):
        _same(data.values["Ant"][field], again.values["Ant"][field])


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_floats_round_trip_bit_for_bit(draw):
    rows, objects = draw.draw(st.integers(2, 5)), draw.draw(st.integers(1, 3))
    shape = (rows, objects)
    floats, whole = st.floats(-(2.0**59), 2.0**59, width=32), st.integers(-(2**53), 2**53)
    present = np.ones(shape, bool)
    gone = draw.draw(arrays(bool, shape))
    gone[0] = False  # each object is there at first, so that it keeps its slot
    present &= ~gone
    observed = {
        "v": present & draw.draw(arrays(bool, shape)),
        "p": present & draw.draw(arrays(bool, shape)),
        "n": present & draw.draw(arrays(bool, shape)),
        "a": present & (np.arange(rows) < rows - 1)[:, None],
    }
    values = {
        "v": draw.draw(arrays(np.float32, shape, elements=floats)),
        "p": draw.draw(arrays(np.float32, (*shape, 2), elements=floats)),
        "n": draw.draw(arrays(np.int64, shape, elements=whole)),
        "a": draw.draw(arrays(np.float32, shape, elements=floats)),
    }
    for field, known in observed.items():
        values[field][~known] = 0
    no = np.zeros(rows, bool)
    data = Dataset(
        Schema(Dot),
        {"Dot": values},
        {"Dot": present},
        {"Dot": observed},
        np.zeros(rows, np.int64),
        np.arange(rows),
        np.append(draw.draw(arrays(np.float32, rows - 1, elements=floats)), np.float32(0)),
        no,
        no,
    )
    with tempfile.TemporaryDirectory() as folder:
        data.save(f"{folder}/dots")
        assert_same(data, load_dataset(f"{folder}/dots"))


def test_a_person_can_read_the_files(data, tmp_path):
    data.save(tmp_path / "ants")
    ants = pd.read_parquet(tmp_path / "ants" / "Ant.parquet")
    assert list(ants.columns[:3]) == ["episode", "step", "object"]
    assert len(ants) == 7
    assert ants.heading.tolist()[:3] == ["south", "north", "west"]
    assert ants.awake.tolist()[0] is False
    assert ants.push.isna().tolist() == [False, False, False, True, True, False, True]
    kinds = pq.read_schema(tmp_path / "ants" / "Ant.parquet")
    assert kinds.field("place").type == pa.list_(pa.float32(), 2)
    steps = pd.read_parquet(tmp_path / "ants" / "steps.parquet")
    assert list(steps.columns) == ["episode", "step", "reward", "terminated", "truncated"]
    assert pd.read_parquet(tmp_path / "ants" / "episodes.parquet").episode.tolist() == [0, 7]


def test_files_written_by_pandas_can_be_read(data, tmp_path):
    folder = tmp_path / "ants"
    data.save(folder)
    path = folder / "Ant.parquet"
    ants = pd.read_parquet(path)
    ants["heading"] = ants["heading"].astype(str)
    ants["place"] = ants["place"].map(list)
    ants["x"] = ants["x"].astype("float64")
    ants.sample(frac=1, random_state=0).to_parquet(path)
    accept_changes(folder)
    assert pa.types.is_list(pq.read_schema(path).field("place").type)
    again = load_dataset(folder)
    for field in data.schema.fields("Ant"):
        _same(data.values["Ant"][field], again.values["Ant"][field])


def test_steps_without_objects_and_classes_without_objects(frames, schema, tmp_path):
    steps = pd.DataFrame({"episode": [0, 0, 0, 7, 7, 7], "step": [0, 1, 2, 4, 5, 6]})
    frames["Ant"]["push"], frames["Ant"]["carry"] = 1.0, False
    frames["Hill"] = frames["Hill"][:0]
    data = Dataset.from_frames(frames, schema, steps=steps)
    data.save(tmp_path / "ants")
    assert_same(data, load_dataset(tmp_path / "ants"))


def test_an_existing_folder_is_kept(data, tmp_path):
    folder = tmp_path / "ants"
    data.save(folder)
    with fails(f"`{folder}` exists already. Choose another folder, or pass overwrite=True."):
        data.save(folder)
    (tmp_path / "thesis").mkdir()
    with fails(f"`{tmp_path / 'thesis'}` is not a dataset folder, so it is not overwritten."):
        data.save(tmp_path / "thesis", overwrite=True)


def test_overwrite(data, tmp_path):
    folder = tmp_path / "ants"
    data.save(folder)
    data.head(1).save(folder, overwrite=True)
    assert len(load_dataset(folder)) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["ants"]


@pytest.fixture
def broken_write(monkeypatch):
    """Writing works once and then fails, as on a full disk."""
    calls = []
    write = pq.write_table

    def fail(table, path, **options):
        calls.append(path)
        if len(calls) > 1:
            raise OSError("disk full")
        write(table, path, **options)

    monkeypatch.setattr(pq, "write_table", fail)


def test_a_failed_save_leaves_nothing(data, tmp_path, broken_write):
    with pytest.raises(FileError, match=r"ants` cannot be written: disk full\.$"):
        data.save(tmp_path / "ants")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_overwrite_leaves_the_old(data, tmp_path, request):
    folder = tmp_path / "ants"
    data.save(folder)
    request.getfixturevalue("broken_write")
    with pytest.raises(FileError, match=r"ants` cannot be written: disk full\.$"):
        data.head(1).save(folder, overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["ants"]
    assert len(load_dataset(folder)) == 3


def test_a_link_to_a_dataset_stays(data, tmp_path):
    data.save(tmp_path / "disk" / "ants")
    (tmp_path / "ants").symlink_to(tmp_path / "disk" / "ants")
    data.head(1).save(tmp_path / "ants", overwrite=True)
    assert (tmp_path / "ants").is_symlink()
    assert len(load_dataset(tmp_path / "disk" / "ants")) == 1


def test_a_killed_overwrite_leaves_the_old_dataset_or_the_new_one(data, tmp_path):
    folder = tmp_path / "ants"
    data.save(folder)
    before, seen = 0, set()
    while killed(lambda: data.head(1).save(folder, overwrite=True), before):
        seen.add(len(load_dataset(folder)))
        data.save(folder, overwrite=True)
        assert [p.name for p in tmp_path.iterdir()] == ["ants"]
        before += 3
    assert seen <= {1, 3} and 3 in seen
    assert len(load_dataset(folder)) == 1


def test_a_class_without_objects_whose_names_are_texts(frames, schema, tmp_path, caplog):
    frames["Ant"] = frames["Ant"][:0]
    data = Dataset.from_frames(frames, schema)
    empty = np.full(data.object_ids["Ant"].shape, "", dtype=object)
    data = Dataset(**{**_fields(data), "object_ids": {**data.object_ids, "Ant": empty}})
    data.save(tmp_path / "ants")
    again = load_dataset(tmp_path / "ants")
    assert not again.present["Ant"].any() and again.object_ids["Ant"].dtype == object
    assert caplog.text == ""  # as it was saved


def test_an_emptied_table_is_warned_of(folder, caplog):
    path = folder / "Ant.parquet"
    pq.write_table(pq.read_table(path)[:0], path)
    load_dataset(folder)
    assert f"`{path}`: the table has no rows, so the class `Ant` has no objects." in caplog.text


def test_a_table_that_lacks_episodes_is_warned_of(folder, caplog):
    path = folder / "Ant.parquet"
    table = pq.read_table(path)
    pq.write_table(table.filter(pa.compute.equal(table["episode"], 0)), path)
    load_dataset(folder)
    assert "Class `Ant` has no object in 1 of 2 episodes, though other classes have" in caplog.text


def test_tables_without_rows_as_pandas_writes_them(folder):
    path = folder / "Ant.parquet"
    empty = pd.read_parquet(path)[:0].astype(object)
    empty.to_parquet(path)
    assert pa.types.is_null(pq.read_schema(path).field("object").type)
    assert not load_dataset(folder).present["Ant"].any()


def test_a_dataset_without_a_manifest_says_so(folder, caplog):
    load_dataset(folder)
    assert f"`{folder}` has no manifest.json, so damage to its files may go" in caplog.text
    caplog.clear()
    accept_changes(folder)
    load_dataset(folder)
    assert caplog.text == ""


def test_only_regular_files_are_read(folder, tmp_path):
    path = folder / "Ant.parquet"
    path.rename(tmp_path / "Ant.parquet")
    path.symlink_to(tmp_path / "Ant.parquet")
    with fails(f"`{path}` cannot be read: "):
        load_dataset(folder)
    path.unlink()
    os.mkfifo(path)
    with fails(f"`{path}`: expected a regular file, got a FIFO."):
        load_dataset(folder)


def test_episode_columns_that_cannot_be_written(make_world, tmp_path):
    data = collect(make_world(end=0), 16)
    odd = np.array([1, "a"], dtype=object)
    data = Dataset(**{**_fields(data), "episodes": {"odd": odd}})
    with fails("Column `odd` of `episodes` cannot be written: "):
        data.save(tmp_path / "ants")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "odd, message",
    [
        ({}, "it has a mapping without any key. Write None instead."),
        ([{"a": {}}], "it has a mapping without any key. Write None instead."),
        ("\ud800", "it has text with half of a character. It was read in the wrong encoding: "),
    ],
)
def test_cells_of_episodes_that_cannot_be_written(make_world, tmp_path, odd, message):
    data = collect(make_world(end=0), 16)
    cells = np.empty(data.num_episodes, dtype=object)
    cells[:] = [odd for _ in cells]
    data = Dataset(**{**_fields(data), "episodes": {"odd": cells}})
    with fails(f"Column `odd` of `episodes` cannot be written: {message}"):
        data.save(tmp_path / "ants")
    assert list(tmp_path.iterdir()) == []


def _fields(data):
    return {name: getattr(data, name) for name in data.__dataclass_fields__}


@pytest.fixture
def folder(data, tmp_path):
    """A folder as another tool would write it, without a manifest, so that it may be changed."""
    data.save(tmp_path / "ants")
    (tmp_path / "ants" / "manifest.json").unlink()
    return tmp_path / "ants"


def change(path, **columns):
    table = pq.read_table(path)
    for name, column in columns.items():
        table = table.drop([name]) if name in table.column_names else table
        if column is not None:
            table = table.append_column(name, column)
    pq.write_table(table, path)


def test_not_a_dataset_folder(folder, tmp_path):
    with fails(f"`{tmp_path / 'no'}`: expected a dataset folder, got none. Write one with"):
        load_dataset(tmp_path / "no")
    with fails(f"`{folder / 'schema.json'}`: expected a dataset folder, got a file."):
        load_dataset(folder / "schema.json")
    (folder / "schema.json").unlink()
    with fails(f"`{folder / 'schema.json'}` is missing, so `{folder}` is not a dataset folder."):
        load_dataset(folder)


def test_the_folder_of_a_run(data, folder, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text("{}")
    (run / "schema.json").write_text((folder / "schema.json").read_text())
    with fails(
        f"`{run}`: expected a dataset folder, got a run, the result of `fit`. Load it with "
        "`oocdm.load`, and give the folder of its data here."
    ):
        load_dataset(run)
    with fails(f"`{run}` is not a dataset folder, so it is not overwritten."):
        data.save(run, overwrite=True)
    assert (run / "config.json").is_file()
    (folder / "config.json").write_text("{}")  # a dataset may have files of its owner
    assert len(load_dataset(folder)) == 3


@pytest.mark.parametrize(
    "text", ["[]", '{"classes": 3}', '{"classes": {}}', '{"classes": {}, "more": 1}']
)
def test_broken_schema(folder, text):
    (folder / "schema.json").write_text(text)
    with fails(f"`{folder / 'schema.json'}` cannot be read as a schema: "):
        load_dataset(folder)


@pytest.mark.parametrize("text", [b"{", b"\xff", b"[" * 10_000])
def test_a_schema_that_is_no_json(folder, text):
    (folder / "schema.json").write_bytes(text)
    with pytest.raises(DataError, match=r"schema\.json.*(not readable as JSON|levels of JSON)"):
        load_dataset(folder)


@pytest.mark.parametrize("name", ["Ant", "Hill", "steps", "episodes"])
def test_missing_cut_and_damaged_files(folder, name):
    path = folder / f"{name}.parquet"
    whole = path.read_bytes()
    cannot = f"`{path}` cannot be read as Parquet; it may be cut off or damaged ("
    for broken in (b"", whole[:10], whole[:-20], whole[: len(whole) // 2], b"x" * len(whole)):
        path.write_bytes(broken)
        with fails(cannot) as info:
            load_dataset(folder)
        assert info.value.__cause__ is None
        assert info.value.__suppress_context__
    path.unlink()
    holds = {
        "steps": "It holds one row per step, with the columns episode, step, reward, terminated "
        "and truncated. ",
        "episodes": "It holds one row per episode, with the column episode and any others. ",
    }
    with fails(
        f"`{path}` is missing from the dataset folder. {holds.get(name, '')}Write the dataset "
        "again; `Dataset.save` writes all files."
    ):
        load_dataset(folder)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("hill.parquet", "There is `hill.parquet`: capital letters count, so rename it to "),
        ("Hill.csv", "There is `Hill.csv`, but only Parquet files are read. Write the dataset"),
    ],
)
def test_what_may_have_been_meant(make_world, tmp_path, name, advice):
    folder = tmp_path / "ants"
    collect(make_world(), 100).save(folder)
    (folder / "Hill.parquet").rename(folder / name)
    path = folder / "Hill.parquet"
    with fails(f"`{path}` is missing from the dataset folder. {advice}"):
        load_dataset(folder)


def test_a_flipped_bit_is_noticed(make_world, tmp_path):
    folder = tmp_path / "ants"
    collect(make_world(), 500).save(folder)
    path = folder / "Hill.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    with fails(f"`{path}` is not as it was when `{folder / 'manifest.json'}` was written: it was"):
        load_dataset(folder)
    (folder / "manifest.json").unlink()  # even then
    with fails(f"`{path}` cannot be read as Parquet; it may be cut off or damaged ("):
        load_dataset(folder)


@pytest.mark.parametrize(
    ("file", "columns", "message"),
    [
        ("Hill", {"height": None}, "PATH: column `height` is missing. Expected: episode, step"),
        ("steps", {"reward": None}, "PATH: column `reward` is missing. Expected: episode, step"),
        ("episodes", {"episode": None}, "PATH: column `episode` is missing."),
        ("Hill", {"hight": pa.nulls(5)}, "PATH: unknown column `hight`. Did you mean `height`?"),
        (
            "Hill",
            {"height": pa.array([0, 0, 0, 0, np.nan])},
            "Field `Hill.height`: expected a finite number, got NaN at episode 7, step 5, object "
            "0. NaN is not a value; write null where a value is missing.",
        ),
        (
            "Hill",
            {"height": pa.array([0, 0, -np.inf, 0, 0])},
            "Field `Hill.height`: expected a number from -1e+18 to 1e+18, got -inf at episode 0,",
        ),
        (
            "Hill",
            {"height": pa.array(["0", "1", "2", "3", "4"])},
            "Field `Hill.height`: expected numbers, got a column of dtype object, with '0' at",
        ),
        (
            "Ant",
            {"heading": pa.array(["north"] * 6 + ["noth"])},
            "Field `Ant.heading`: unknown value 'noth' at episode 7, step 5, object c. Did you ",
        ),
        (
            "Ant",
            {"place": pa.array([[1.0, 2.0]] * 6 + [[1.0]])},
            "Field `Ant.place`: expected a list of 2 numbers, got 1 of them at episode 7, step 5",
        ),
        (
            "Ant",
            {"place": pa.array([[1.0, 2.0]] * 6 + [[1.0, None]])},
            "Field `Ant.place`: expected a list of 2 numbers, got null in it at episode 7, step 5",
        ),
        (
            "Ant",
            {"place": pa.array([1.0] * 7)},
            "Field `Ant.place`: expected lists of 2 numbers, got a column of type double.",
        ),
        (
            "Ant",
            {"food": pa.array([0, 0, 0, 0, 0, 0, 99])},
            "Field `Ant.food`: expected a value from 0 to 9, got 99 at episode 7, step 5, object c",
        ),
        (
            "Hill",
            {"step": pa.array([0, 1, 2, 4, None])},
            "PATH: column `step`: expected whole numbers (int64) without missing values, got a "
            "missing value in row 4",
        ),
        (
            "Hill",
            {"step": pa.array(["0", "1", "2", "4", "5"])},
            "PATH: column `step`: expected whole numbers without null, got string.",
        ),
        (
            "Hill",
            {"object": pa.array([0.5] * 5)},
            "PATH: column `object`: expected whole numbers (int64) without missing values, got 0.5",
        ),
        (
            "Hill",
            {"object": pa.array([True] * 5)},
            "PATH: column `object`: expected whole numbers or strings without null, got bool",
        ),
        (
            "Hill",
            {"object": pa.array([2**64 - 1] * 5, pa.uint64())},
            "PATH: column `object`: expected whole numbers (int64) without missing values, got 18",
        ),
        (
            "steps",
            {"reward": pa.array([0, np.nan, 0, 0, 0])},
            "PATH: column `reward`: expected a number, got a missing value at episode 0, step 1.",
        ),
        (
            "steps",
            {"terminated": pa.array([True, None, False, False, False])},
            "PATH: column `terminated`: expected true or false, got a missing value at episode 0",
        ),
        (
            "steps",
            {"step": pa.array([0, 1, 3, 4, 5])},
            "Class `Ant`: got a row for episode 0, step 2, object a, but the table of steps has no",
        ),
        (
            "episodes",
            {"episode": pa.array([0, 8])},
            "PATH: expected one row for each episode of the steps, got a difference in episode 7.",
        ),
    ],
)
def test_wrong_content(folder, file, columns, message):
    path = folder / f"{file}.parquet"
    change(path, **columns)
    with fails(message.replace("PATH", f"`{path}`")):
        load_dataset(folder)


def test_whole_floats_and_missing_last_outcomes(data, folder):
    change(folder / "Hill.parquet", episode=pa.array([0.0, 0, 0, 7, 7]), object=pa.array([0.0] * 5))
    change(
        folder / "steps.parquet",
        reward=pa.array([1, 2, None, 3, None]),
        terminated=pa.array([False, True, None, False, None]),
    )
    again = load_dataset(folder)
    assert np.array_equal(again.present["Hill"], data.present["Hill"])
    assert again.reward.tolist() == [1, 2, 0, 3, 0]
    assert again.terminated.tolist() == [False, True, False, False, False]


def test_all_null_columns(folder):
    change(folder / "Ant.parquet", place=pa.nulls(7), x=pa.nulls(7), heading=pa.nulls(7))
    data = load_dataset(folder)
    assert not data.observed["Ant"]["place"].any()
    assert not data.observed["Ant"]["x"].any()


def test_schema_file_is_the_schema(folder, schema):
    assert Schema.from_json(json.loads((folder / "schema.json").read_text())) == schema


def test_what_is_no_part_of_the_dataset_is_not_lost(data, tmp_path):
    folder = tmp_path / "ants"
    data.save(folder)
    (folder / "README.md").write_text("Mine.")
    with fails(f"`{folder}` holds `README.md`, which is no part of the dataset and would be lost."):
        data.save(folder, overwrite=True)
    assert (folder / "README.md").read_text() == "Mine."
    (folder / "README.md").unlink()
    (folder / "schema.json").write_text("{")  # the manifest still tells what is of the dataset
    data.save(folder, overwrite=True)
    (folder / "manifest.json").unlink()  # and so does the schema
    data.save(folder, overwrite=True)
    assert len(load_dataset(folder)) == len(data)


def test_of_two_who_save_at_once_one_is_told(data, tmp_path, monkeypatch):
    folder = tmp_path / "ants"

    def write(log, draft):
        monkeypatch.undo()
        data.head(1).save(folder)  # somebody else, meanwhile
        return original(log, draft)

    original = folder_module._write
    monkeypatch.setattr(folder_module, "_write", write)
    with pytest.raises(FileError, match="was written by somebody else meanwhile"):
        data.save(folder)
    assert len(load_dataset(folder)) == 1


def test_a_dataset_that_is_replaced_meanwhile_is_the_old_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ball(ObjectClass):
        x = Real()

    def balls(first: float) -> Dataset:
        frame = pd.DataFrame({"episode": 0, "step": [0, 1], "object": 0, "x": [first, 0.5]})
        return Dataset.from_frames({"Ball": frame}, Schema(Ball))

    folder, times, read_schema = tmp_path / "balls", [1], folder_module._read_schema
    balls(0.0).save(folder)

    def replaced(contents: Contents) -> Schema:
        if times[0] and contents.checksums is not None:  # not where `save` looks itself
            times[0] -= 1
            balls(times[0] + 2.0).save(folder, overwrite=True)
        return read_schema(contents)

    monkeypatch.setattr(folder_module, "_read_schema", replaced)
    assert load_dataset(folder).cells["Ball"].values["x"].ravel().tolist() == [2.0, 0.5]
    times[0] = 99
    with pytest.raises(DataError, match=r"balls` was replaced 3 times while it was read\. Read it"):
        load_dataset(folder)
