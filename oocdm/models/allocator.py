"""Keep freed memory in the process: steps make and drop the same large buffers again and again."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

# Parameters of glibc's mallopt.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3


@cache
def keep_freed_memory() -> bool:
    """Tell glibc not to return buffers to the system between steps; whether it listened.

    By default every large buffer is mapped anew and its pages are cleared on first touch,
    which costs about a third of a step of training on a CPU. Elsewhere than on Linux with glibc
    this does nothing.

    >>> import platform
    >>> keep_freed_memory() == (platform.libc_ver()[0] == "glibc")
    True
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    settings = {M_MMAP_THRESHOLD: 1 << 30, M_TRIM_THRESHOLD: 2**31 - 1, M_TOP_PAD: 1 << 26}
    return all([mallopt(name, value) == 1 for name, value in settings.items()])


def release_freed_memory() -> None:
    """Return to the system what was freed: work of another kind needs buffers of other sizes."""
    if keep_freed_memory():
        ctypes.CDLL("libc.so.6").malloc_trim(0)
