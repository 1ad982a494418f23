"""Ctrl-C on the command line: a word and an exit code, also while the libraries still load."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from types import FrameType

INTERRUPTED = 130  # the exit code


def is_command(arguments: Sequence[str]) -> bool:
    """Whether Python was started as the command line of oocdm.

    >>> is_command(["python", "-m", "oocdm", "train"]), is_command(["python", "/bin/oocdm"])
    (True, True)
    >>> is_command(["python", "own.py", "-m", "oocdm"]), is_command(["python"])
    (False, False)
    """
    rest = list(arguments[1:])
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c"):
        del rest[: 2 if rest[0] in ("-X", "-W") else 1]  # Python's own
    return rest[:2] == ["-m", "oocdm"] or PurePath(*rest[:1]).stem == "oocdm"


def end_at_once() -> None:
    """From now on Ctrl-C ends the process with a word, if Python would have raised an error."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


@contextmanager
def raising() -> Iterator[None]:
    """Within this Ctrl-C is a `KeyboardInterrupt` again, for work that must be ended in order."""
    if signal.getsignal(signal.SIGINT) is not _end:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _end)


def _end(number: int, frame: FrameType | None) -> None:
    # Not by an error: in the middle of an import it may be swallowed, or turned into another.
    os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)


if is_command(sys.orig_argv):
    end_at_once()
