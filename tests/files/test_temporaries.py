"""Temporaries of writers that live, and of those that died."""

from __future__ import annotations

import os
from pathlib import Path

from oocdm.files.temporaries import (
    is_temporary,
    new_name,
    sweep,
    temporary_file,
    temporary_folder,
)


def test_what_is_not_renamed_is_removed(tmp_path: Path) -> None:
    with temporary_file(tmp_path) as (path, file):
        file.write(b"half")
        assert is_temporary(path.name)
    with temporary_folder(tmp_path) as folder:
        (folder / "a").touch()
    assert os.listdir(tmp_path) == []


def test_only_what_dead_writers_left_is_swept(tmp_path: Path) -> None:
    left = [tmp_path / new_name() for _ in range(3)]
    left[0].write_bytes(b"half")
    left[1].mkdir()
    (left[1] / "a").touch()
    os.mkfifo(left[2])
    mine = tmp_path / ".oocdm-notes"
    mine.touch()
    with temporary_file(tmp_path) as (file, _), temporary_folder(tmp_path) as folder:
        sweep(tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == {mine.name, file.name, folder.name}


def test_links_are_not_swept_through(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a").touch()
    (tmp_path / new_name()).symlink_to(tmp_path / "mine")
    sweep(tmp_path)
    assert (tmp_path / "mine" / "a").is_file()
