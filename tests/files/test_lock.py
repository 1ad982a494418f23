"""A folder to which only one process writes."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
from pathlib import Path

import pytest

from oocdm.errors import FileError
from oocdm.files import lock
from oocdm.files.lock import LOCK, locked


def hold(folder: Path, ready: int) -> None:
    """Keep a folder until one is killed."""
    with locked("fit", folder):
        os.write(ready, b"!")
        signal.pause()


def test_a_second_writer_is_refused_and_told_of_the_first(tmp_path: Path) -> None:
    with locked("fit", tmp_path):
        message = (
            f"fit: folder {tmp_path} is being written to by process {os.getpid()} on "
            f"{socket.gethostname()}. Wait until it is done, or choose another folder."
        )
        with (
            pytest.raises(FileError, match=f"^{re.escape(message)}$"),
            locked("fit", tmp_path),
        ):
            pass
    with locked("fit", tmp_path):
        pass
    assert os.listdir(tmp_path) == []


def test_a_dead_process_holds_nothing(tmp_path: Path) -> None:
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        hold(tmp_path, tell)
    os.read(ready, 1)
    with pytest.raises(FileError, match=f"by process {child} on"), locked("fit", tmp_path):
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert os.listdir(tmp_path) == [LOCK]
    with locked("fit", tmp_path):
        pass
    assert os.listdir(tmp_path) == []


def test_a_lock_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / LOCK).symlink_to(tmp_path / "mine")
    with pytest.raises(FileError, match="links are not followed"), locked("fit", tmp_path):
        pass
    assert (tmp_path / "mine").read_text() == "mine"


def test_without_locks_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lock, "fcntl", None)
    with caplog.at_level(logging.INFO), locked("fit", tmp_path), locked("fit", tmp_path):
        pass
    assert "has no lock" in caplog.text and "Do not write to it twice." in caplog.text
