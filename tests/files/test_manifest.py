"""Files that are as they were written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import oocdm
from oocdm.errors import DataError, FileError
from oocdm.files.manifest import MANIFEST, Contents, accept_changes, write_manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    (path / "schema.json").write_text('{"a": 1}')
    (path / "letter.txt").write_text("not ours")
    write_manifest(path)
    return path


def test_a_manifest_lists_the_files_that_are_read(folder: Path) -> None:
    found = json.loads((folder / MANIFEST).read_text())
    assert found["format"] == 1
    assert {name: len(text) for name, text in found["files"].items()} == {"schema.json": 64}
    assert Contents.of(folder, DataError).read_json("schema.json") == {"a": 1}


def test_what_was_changed_is_refused_until_it_is_accepted(folder: Path) -> None:
    (folder / "schema.json").write_text('{"a": 2}')
    message = (
        f"`{folder / 'schema.json'}` is not as it was when `{folder / MANIFEST}` was written: it "
        "was cut off, damaged or changed since. Take a copy, or make it anew. If it was changed on "
        f"purpose: oocdm.accept_changes('{folder}') or `oocdm accept {folder}`."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        Contents.of(folder, DataError).read("schema.json")
    oocdm.accept_changes(folder)
    assert Contents.of(folder, DataError).read_json("schema.json") == {"a": 2}


def test_a_file_that_the_manifest_does_not_list_is_refused(folder: Path) -> None:
    (folder / "graph.json").write_text("{}")
    with pytest.raises(DataError, match=r"graph\.json` is not as it was when"):
        Contents.of(folder, DataError).read("graph.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected "),
        ("{", "not readable as JSON"),
        ("", "If the other files are as they should be: oocdm.accept_changes('"),
        ("version https://git-lfs.github.com/spec/v1", "fetch it with `git lfs pull`. If the"),
        ('{"format": 1}', "`files` is missing"),
        ('{"format": 1, "files": {"a": 3}}', "`files.a`: expected "),
        ('{"format": 2, "files": {}}', "expected a manifest of format 1, got 2: another version"),
        ('{"format": 1, "files": {}, "more": 1}', "there is no `more`"),
    ],
)
def test_what_is_no_manifest(text: str, message: str, folder: Path) -> None:
    (folder / MANIFEST).write_text(text)
    with pytest.raises(DataError, match=re.escape(message)):
        Contents.of(folder, DataError)


def test_a_folder_without_one_says_so(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    Contents.of(folder, DataError).warn_if_unlisted()
    assert caplog.text == ""
    (folder / MANIFEST).unlink()
    contents = Contents.of(folder, DataError)
    contents.warn_if_unlisted()
    assert f"`{folder}` has no manifest.json, so damage to its files may go" in caplog.text
    assert contents.read_json("schema.json") == {"a": 1}


def test_only_runs_and_datasets_have_changes_to_accept(folder: Path) -> None:
    (folder / "schema.json").unlink()
    message = rf"^accept_changes: expected the folder of a run or a dataset, got {folder}, which"
    with pytest.raises(FileError, match=message):
        accept_changes(folder)


def test_a_linked_folder_is_read_but_no_link_in_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert Contents.of(tmp_path / "link", DataError).read_json("schema.json") == {"a": 1}
    (folder / "schema.json").rename(tmp_path / "schema.json")
    (folder / "schema.json").symlink_to(tmp_path / "schema.json")
    with pytest.raises(DataError, match="links are not followed"):
        Contents.of(folder, DataError).read("schema.json")


def test_a_broken_manifest_can_be_written_anew(folder: Path) -> None:
    (folder / MANIFEST).write_text("")
    oocdm.accept_changes(folder)
    assert Contents.of(folder, DataError).read_json("schema.json") == {"a": 1}


@pytest.mark.parametrize("has_manifest", [True, False])
def test_what_git_lfs_left_is_told_apart_from_damage(has_manifest: bool, folder: Path) -> None:
    if not has_manifest:
        (folder / MANIFEST).unlink()
    (folder / "schema.json").write_text("version https://git-lfs.github.com/spec/v1\nsize 12\n")
    path = folder / "schema.json"
    message = f"`{path}` holds no more than the address of a file. Git LFS has the file itself: "
    with pytest.raises(DataError, match=f"^{re.escape(message)}fetch it with `git lfs pull`.$"):
        Contents.of(folder, DataError).read("schema.json")
