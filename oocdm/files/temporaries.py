"""Files and folders under names that nobody reads, until they are whole.

Their writer keeps a lock on each. So what a dead writer left can be told, and the next one
removes it.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from oocdm.files.lock import CAREFULLY, is_at, try_lock

PREFIX = ".oocdm-"
_NAME = re.compile(re.escape(PREFIX) + "[0-9a-f]{16}")
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)


def is_temporary(name: str) -> bool:
    """Whether a file or folder of that name is one of ours.

    >>> is_temporary(new_name()), is_temporary("graph.json")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def new_name() -> str:
    """A name that nothing has."""
    return f"{PREFIX}{secrets.token_hex(8)}"


@contextmanager
def temporary_file(folder: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A file to write and then rename; what is not renamed is removed."""
    while True:
        path = folder / new_name()
        # Not by `tempfile`, whose files nobody but their owner may read.
        file = os.fdopen(os.open(path, _NEW, 0o666), "w+b")
        if _keep(path, file.fileno()):
            break
        file.close()
    with file:
        try:
            yield path, file
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def temporary_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill and then rename; what stands at its path afterwards is removed."""
    while True:
        path = folder / new_name()
        path.mkdir()
        descriptor = _open_folder(path)
        if descriptor is None or _keep(path, descriptor):
            break
        os.close(descriptor)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def sweep(folder: Path) -> None:
    """Remove what writers left in a folder that are dead; nothing of those that live."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if is_temporary(name):
                _remove_if_left(folder / name)


def _remove_if_left(path: Path) -> None:
    with suppress(OSError):  # such as a link, or somebody else's
        descriptor = os.open(path, os.O_RDONLY | CAREFULLY)
        try:
            if try_lock(descriptor) and is_at(path, descriptor):
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()
        finally:
            os.close(descriptor)


def _keep(path: Path, descriptor: int) -> bool:
    """Lock a new temporary; False if it was swept away before."""
    with suppress(OSError):  # no locks here: nobody can sweep either
        try_lock(descriptor)
    return is_at(path, descriptor)


def _open_folder(path: Path) -> int | None:
    try:
        return os.open(path, _FOLDER)
    except PermissionError:  # on systems where folders cannot be opened
        return None
