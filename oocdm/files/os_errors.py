"""What the system says of files, as errors that name the file and what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from oocdm.errors import OocdmError

_FULL = "Free some space, or choose another disk."
_FORBIDDEN = "Change its permissions, or choose another place."
_REMEDIES = {
    **{errno.ENOSPC: _FULL, errno.EDQUOT: _FULL, errno.EFBIG: _FULL},
    **{errno.EACCES: _FORBIDDEN, errno.EPERM: _FORBIDDEN, errno.EROFS: _FORBIDDEN},
    **{errno.EISDIR: "Give the name of a file.", errno.ENOTDIR: "Give the name of a folder."},
    errno.ELOOP: "Inside a folder links are not followed: put the file itself there.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
}


@contextmanager
def told_as(
    error: type[OocdmError], path: str | PathLike[str], doing: str, advice: str = ""
) -> Iterator[None]:
    """Raise what the system says of a file as an `error` that names it.

    >>> with told_as(OocdmError, "runs/block5/graph.json", "written"):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    ...
    oocdm.errors.OocdmError: `runs/block5/graph.json` cannot be written: No space left on device. \
Free some space, or choose another disk.
    """
    try:
        yield
    except OSError as reason:
        words = (reason.strerror or str(reason) or type(reason).__name__).splitlines()[0]
        if reason.errno == errno.ELOOP:
            words = "It is a link"
        remedy = advice or _REMEDIES.get(reason.errno or 0, "")
        raise error(f"`{path}` cannot be {doing}: {words.rstrip('.')}. {remedy}".rstrip()) from None
