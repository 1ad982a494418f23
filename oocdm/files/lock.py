"""Locks that no dead process holds: the system takes them from a process that ends."""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oocdm.errors import FileError
from oocdm.files.os_errors import told_as

try:
    import fcntl
except ImportError:  # such as on Windows
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

LOCK = ".lock"  # in a folder that only one process may write to
# How files are opened that nobody vouches for: no link is followed, no FIFO waited for.
CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def try_lock(descriptor: int) -> bool:
    """Lock an open file or folder until it is closed; False if another holds it.

    Where there are no such locks this is an `OSError`.
    """
    if fcntl is None:
        raise OSError(errno.ENOTSUP, "This system has no file locks")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_at(path: Path, descriptor: int) -> bool:
    """Whether an open file or folder is what stands at a path, not something that did before."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextmanager
def locked(who: str, folder: Path) -> Iterator[None]:
    """Let no other process write to a folder meanwhile; a `FileError` if one does already.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked("fit", Path(folder)):
    ...     os.listdir(folder)
    ['.lock']
    """
    path = folder / LOCK
    with told_as(FileError, path, "written"):
        descriptor = _take(who, path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is ours
        os.close(descriptor)


def _take(who: str, path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | CAREFULLY, 0o666)
        try:
            is_taken = try_lock(descriptor)
        except OSError as reason:
            logger.info("%s: %s has no lock (%s). Do not write to it twice.", who, path, reason)
            return descriptor
        if is_taken and is_at(path, descriptor):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())
            return descriptor
        holder = os.read(descriptor, 200).decode(errors="replace") or "another process"
        os.close(descriptor)
        if not is_taken:
            raise FileError(
                f"{who}: folder {path.parent} is being written to by {holder}. Wait until it is "
                "done, or choose another folder."
            )
        # Whoever held it was just done, and has removed it.
