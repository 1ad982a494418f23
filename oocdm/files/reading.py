"""Reading files that nobody vouches for: regular ones only, and no more than is sensible."""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from oocdm.errors import OocdmError, short
from oocdm.files.limits import check_limit
from oocdm.files.lock import CAREFULLY
from oocdm.files.os_errors import told_as

# A text that never ends goes to the end: else it would be looked for again from each of its quotes.
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_NUMBER = re.compile(r"[-+.\w]+")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def read_bytes(path: Path, what: str, error: type[OocdmError], is_named: bool = False) -> bytes:
    """What a regular file holds, if it is within the limit of `what`, such as "bytes of JSON".

    Links are followed only to a file that a user named.
    """
    with told_as(error, path, "read"):
        place = os.path.realpath(path) if is_named else path
        descriptor = os.open(place, os.O_RDONLY | CAREFULLY)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise error(f"`{path}`: expected a regular file, got {_kind(found.st_mode)}.")
            check_limit(path, what, found.st_size, error)
            return file.read()


def read_json(path: Path, error: type[OocdmError]) -> Any:
    """What a file of JSON holds."""
    return parse_json(read_bytes(path, "bytes of JSON", error), path, error)


def parse_json(content: bytes, path: Path, error: type[OocdmError]) -> Any:
    """The value that a text is the JSON of; a key that stands there twice is a mistake.

    >>> parse_json(b'{"a": [1]}', Path("a.json"), OocdmError)
    {'a': [1]}
    """
    try:
        # Not left to Python, which guesses: other encodings would hide what is counted here.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        raise _unreadable(path, reason, error) from None
    # Looked at before it is parsed: number, depth and length could stop Python itself.
    bare = _TEXT.sub("", text)
    check_limit(path, "values of JSON", sum(map(bare.count, ",[{")), error)
    check_limit(path, "levels of JSON", _depth(bare), error)
    longest = max(map(len, _NUMBER.findall(bare)), default=0)
    check_limit(path, "characters of a number", longest, error)
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as reason:
        raise _unreadable(path, reason, error) from None


def _depth(bare: str) -> int:
    """How many lists and objects are open at once, at most."""
    brackets = np.frombuffer(bare.encode().translate(None, _NO_BRACKETS), dtype=np.uint8)
    opens = (brackets == ord("[")) | (brackets == ord("{"))
    return int(np.where(opens, 1, -1).cumsum().max(initial=0))


def _unreadable(path: Path, reason: Exception, error: type[OocdmError]) -> OocdmError:
    return error(f"{path}: not readable as JSON ({reason}). Is the file damaged, or cut off?")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key `{short(name, quote=False)}` is there twice")
    return found


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")
