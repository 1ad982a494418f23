"""What the system says of files."""

from __future__ import annotations

import errno
import os
import re

import pytest

from oocdm.errors import DataError, FileError
from oocdm.files.os_errors import told_as


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "No space left on device. Free some space, or choose another disk."),
        (errno.EACCES, "Permission denied. Change its permissions, or choose another place."),
        (errno.EISDIR, "Is a directory. Give the name of a file."),
        (errno.EIO, "Input/output error."),
    ],
)
def test_the_file_and_a_remedy_are_named(number: int, remedy: str) -> None:
    message = f"`run/graph.json` cannot be written: {remedy}"
    with (
        pytest.raises(FileError, match=f"^{re.escape(message)}$") as caught,
        told_as(FileError, "run/graph.json", "written"),
    ):
        raise OSError(number, os.strerror(number))
    assert caught.value.__suppress_context__


def test_an_advice_comes_instead_of_the_remedy() -> None:
    message = "`a` cannot be read: gone. Look elsewhere."
    with (
        pytest.raises(DataError, match=f"^{re.escape(message)}$"),
        told_as(DataError, "a", "read", "Look elsewhere."),
    ):
        raise OSError("gone")
