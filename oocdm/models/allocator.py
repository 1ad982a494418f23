"""Keep freed memory in the process: steps make and drop the same large buffers again and again."""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

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


@dataclass(frozen=True)
class Ceiling:
    """Resident memory above which freed memory is returned; None if the system tells nothing.

    Large aligned buffers leave splinters behind, and glibc does not find a hole again that one of
    them has shrunk: what is freed grows to several times what is in use. Returning all of it after
    every piece of work would take longer than the work.

    >>> Ceiling(None).hold()
    False
    """

    most: int | None

    @staticmethod
    def above(resident: int | None, size: int) -> Ceiling:
        """So many bytes above what was resident."""
        return Ceiling(None if resident is None else resident + size)

    def hold(self) -> bool:
        """Return freed memory if more than this is resident; whether that was so."""
        if self.most is None or (resident_memory() or 0) <= self.most:
            return False
        release_freed_memory()
        return True


NO_CEILING = Ceiling(None)


def resident_memory() -> int | None:
    """Bytes of this process that are in memory, where Linux tells them.

    >>> import sys
    >>> (resident_memory() is not None) == sys.platform.startswith("linux")
    True
    """
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, AttributeError, ValueError):
        return None
