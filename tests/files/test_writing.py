"""Files and folders that are there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from oocdm.errors import FileError
from oocdm.files import writing
from oocdm.files.manifest import Contents
from oocdm.files.writing import (
    check_own_folder,
    remove_folder,
    whole_folder,
    write_atomically,
    write_json,
)
from tests.files.killing import killed


def test_write_atomically_makes_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.json"
    write_atomically(path, b"{}")
    assert path.read_bytes() == b"{}"
    assert os.listdir(path.parent) == ["c.json"]


def test_others_may_read_what_is_written(tmp_path: Path) -> None:
    """As they may read any other file of this user."""
    (tmp_path / "usual").touch()
    write_atomically(tmp_path / "ours", b"{}")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("broken", ["replace", "fsync"])
def test_a_failed_write_leaves_what_was_there(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.safetensors"
    write_atomically(path, b"old")

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(FileError, match=rf"^`{path}` cannot be written: disk full\.$"):
        write_atomically(path, b"new")
    with pytest.raises(FileError, match="disk full"):
        write_atomically(tmp_path / "other", b"new")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["model.safetensors"]
    assert path.read_bytes() == b"old"


def test_an_interrupted_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "graph.json", b"{}")
    assert os.listdir(tmp_path) == []


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "graph.png").mkdir()
    with pytest.raises(FileError, match=r"graph\.png` cannot be written: Is a directory\."):
        write_atomically(tmp_path / "graph.png", b"")
    write_atomically(tmp_path / "file", b"")
    with pytest.raises(FileError, match=r"file/a` cannot be written: "):
        write_atomically(tmp_path / "file" / "a", b"")


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    (tmp_path / "graph.png").symlink_to(tmp_path / "theirs")
    write_atomically(tmp_path / "graph.png", b"ours")
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert (tmp_path / "graph.png").read_bytes() == b"ours"


def test_json_is_readable_and_ends_its_line(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": [1]})
    assert (tmp_path / "a.json").read_text() == '{\n  "b": [\n    1\n  ]\n}\n'


def test_a_killed_write_leaves_the_old_or_the_new_and_the_next_one_tidies_up(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a"
    before = 0
    while killed(lambda: write_atomically(path, b"new"), before):
        assert not path.exists() or path.read_bytes() == b"new"
        path.unlink(missing_ok=True)
        before += 1
    assert before >= 2
    assert os.listdir(tmp_path) == ["a"]


# ---------------------------------------------------------------- folders


def fill(path: Path, text: str) -> None:
    with whole_folder(path, replaces=True) as draft:
        for name in ("a", "b"):
            (draft / name).write_text(text)


def held(path: Path) -> str:
    one, other = ((path / name).read_text() for name in ("a", "b"))
    assert one == other and len(os.listdir(path)) == 2
    return one


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_killed_overwrite_leaves_the_old_folder_or_the_new_one(
    can_exchange: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_exchange:
        monkeypatch.setattr(writing, "_exchange", lambda one, other: False)
    path = tmp_path / "data"
    before, seen = 0, set()
    fill(path, "old")
    while killed(lambda: fill(path, "new"), before):
        Contents.of(path, FileError)  # who reads it puts it back, if it has to be
        seen.add(held(path))
        fill(path, "old")
        assert os.listdir(tmp_path) == ["data"]
        before += 1
    assert seen == {"old", "new"}
    assert held(path) == "new" and os.listdir(tmp_path) == ["data"]


def test_a_failed_overwrite_leaves_the_old(tmp_path: Path) -> None:
    path = tmp_path / "data"
    fill(path, "old")
    message = rf"^`{path}` cannot be written: No space left on device\. Free some space"
    with pytest.raises(FileError, match=message), whole_folder(path, replaces=True) as draft:
        (draft / "a").write_text("new")
        raise OSError(28, "No space left on device")
    assert held(path) == "old" and os.listdir(tmp_path) == ["data"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_link_to_a_folder_stays(
    can_exchange: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_exchange:
        monkeypatch.setattr(writing, "_exchange", lambda one, other: False)
    fill(tmp_path / "disk" / "data", "old")
    (tmp_path / "data").symlink_to(tmp_path / "disk" / "data")
    fill(tmp_path / "data", "new")
    assert (tmp_path / "data").is_symlink()
    assert held(tmp_path / "disk" / "data") == "new"
    assert os.listdir(tmp_path / "disk") == ["data"]


def test_what_is_written_is_flushed_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    fsync, rename = os.fsync, os.rename

    def note(descriptor: int) -> None:
        said.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def note_rename(source: Path, target: Path) -> None:
        said.append("renamed")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(os, "rename", note_rename)
    fill(tmp_path / "data", "new")
    assert set(said[: said.index("renamed")]) >= {"a", "b"}
    assert said[-1] == tmp_path.name


def test_a_folder_is_removed_at_once(tmp_path: Path) -> None:
    before = 0
    path = tmp_path / "run"
    fill(path, "old")
    while killed(lambda: remove_folder(path), before):
        assert not path.exists() or held(path) == "old"
        fill(path, "old")
        assert os.listdir(tmp_path) == ["run"]
        before += 1
    assert before > 1 and os.listdir(tmp_path) == []


def test_nothing_is_written_through_a_linked_folder(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "checkpoints").symlink_to(tmp_path / "theirs")
    with pytest.raises(FileError, match=r"checkpoints`: expected a folder, got a link\. Inside"):
        check_own_folder(tmp_path / "checkpoints")
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match=r"file`: expected a folder, got a file\."):
        check_own_folder(tmp_path / "file")
    check_own_folder(tmp_path / "theirs")
    check_own_folder(tmp_path / "new")


def test_what_somebody_else_wrote_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "data"
    message = rf"^`{path}` was written by somebody else meanwhile\. Choose another folder\.$"
    with pytest.raises(FileError, match=message), whole_folder(path) as draft:
        (draft / "a").write_text("late")
        fill(path, "early")
    assert held(path) == "early" and os.listdir(tmp_path) == ["data"]


def test_an_empty_folder_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with whole_folder(tmp_path / "data") as draft:
        (draft / "a").write_text("new")
    assert os.listdir(tmp_path / "data") == ["a"]
