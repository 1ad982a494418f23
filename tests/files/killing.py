"""Kills a process before any one of its file operations, as the system may."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

_EVENTS = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "ctypes.dlsym")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def killed(action: Callable[[], object], before: int) -> bool:
    """Do something in a process of its own; kill it before an operation, counted from 0.

    Says whether it came so far.
    """
    child = os.fork()
    if child == 0:
        be_killed(before)
        try:
            action()
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def be_killed(before: int) -> None:
    """Have this process killed before one of its file operations, counted from 0."""
    seen = 0

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if event in _EVENTS or (event == "open" and (arguments[2] or 0) & _WRITING):
            seen += 1
            if seen > before:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
