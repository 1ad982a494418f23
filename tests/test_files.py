"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from oocdm.files import write_atomically, write_json


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
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    with pytest.raises(OSError, match="disk full"):
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


def test_json_is_readable_and_ends_its_line(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": [1]})
    assert (tmp_path / "a.json").read_text() == '{\n  "b": [\n    1\n  ]\n}\n'
