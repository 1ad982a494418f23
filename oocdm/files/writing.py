"""Writing files and folders so that they are there as a whole or not at all."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from oocdm.errors import FileError
from oocdm.files.os_errors import told_as
from oocdm.files.temporaries import PREFIX, new_name, sweep, temporary_file, temporary_folder


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is either there as a whole or not at all, whatever happens.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder) / "a" / "b", b"c")
    ...     (Path(folder) / "a" / "b").read_bytes()
    b'c'
    """
    with told_as(FileError, path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
        with temporary_file(path.parent) as (temporary, file):
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, path)
        flush(path.parent)


def write_json(path: Path, data: Any) -> None:
    """Write JSON atomically."""
    write_atomically(path, (json.dumps(data, indent=2) + "\n").encode())


@contextmanager
def whole_folder(path: Path, replaces: bool = False) -> Iterator[Path]:
    """A folder to fill, which is put in the place of `path` when it is whole.

    Only if it `replaces` another may there be one with anything in it, also if somebody else writes
    it meanwhile: else a `FileError`. Whatever happens, the old folder or the new one stands at
    `path`, if there was one. A link stays, and what it points to is replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_folder(Path(folder) / "data") as draft:
    ...         _ = (draft / "a").write_text("b")
    ...     os.listdir(folder), os.listdir(f"{folder}/data")
    (['data'], ['a'])
    """
    target = Path(os.path.realpath(path))
    with told_as(FileError, path, "written"):
        target.parent.mkdir(parents=True, exist_ok=True)
        recover(target)
        sweep(target.parent)
        with temporary_folder(target.parent) as draft:
            yield draft
            for file in draft.iterdir():
                flush(file)
            flush(draft)
            if replaces:
                _put(draft, target)
            else:
                _put_new(draft, target, path)
        flush(target.parent)


def remove_folder(path: Path) -> None:
    """Remove a folder: it is there as it was, or not at all."""
    with told_as(FileError, path, "removed"):
        gone = path.with_name(new_name())
        os.rename(path, gone)
        if gone.is_symlink():
            gone.unlink()
        else:
            shutil.rmtree(gone, ignore_errors=True)


def check_own_folder(path: Path) -> None:
    """Raise a `FileError` if what is written into a folder would go elsewhere, through a link.

    >>> check_own_folder(Path("runs/new/checkpoints"))
    """
    if os.path.lexists(path) and (path.is_symlink() or not path.is_dir()):
        raise FileError(
            f"`{path}`: expected a folder, got {'a link' if path.is_symlink() else 'a file'}. "
            "Inside a folder links are not followed: remove it."
        )


def flush(path: Path) -> None:
    """Have a file, or the names in a folder, written to the disk itself."""
    with suppress(PermissionError):  # on systems where folders cannot be opened
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def recover(target: Path) -> None:
    """Put back a folder that was put aside, by a writer that ended before its new one was there."""
    aside = _aside(target)
    if not aside.is_dir():
        return
    if os.path.lexists(target):
        shutil.rmtree(aside, ignore_errors=True)
    else:
        os.rename(aside, target)


def _put_new(draft: Path, target: Path, path: Path) -> None:
    try:
        os.rename(draft, target)  # which the system refuses where anything is in the way
    except OSError as reason:
        if not os.path.lexists(target):
            raise
        raise FileError(
            f"`{path}` was written by somebody else meanwhile. Choose another folder."
        ) from reason


def _put(draft: Path, target: Path) -> None:
    if not target.is_dir() or not any(target.iterdir()):
        os.rename(draft, target)
    elif not _exchange(draft, target):
        os.rename(target, _aside(target))
        try:
            os.rename(draft, target)
        finally:
            recover(target)


def _aside(target: Path) -> Path:
    return target.with_name(f"{PREFIX}old-{target.name}")


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):  # it is Linux's
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):  # nor can some file systems
        return False
    raise OSError(number, os.strerror(number))
