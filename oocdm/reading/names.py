"""Names that must be known ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oocdm.errors import OocdmError, short, suggest


def known_name(
    name: Any, known: Iterable[str], what: str, error: type[OocdmError] = OocdmError
) -> str:
    """A name that is known; anything else raises `error` with a suggestion.

    >>> known_name("block", ["block", "mouse"], "environment")
    'block'
    >>> known_name("blok", ["block", "mouse"], "environment")
    Traceback (most recent call last):
    ...
    oocdm.errors.OocdmError: Unknown environment `blok`. Did you mean `block`? Known: block, mouse.
    """
    if isinstance(name, str) and name in known:
        return name
    raise error(f"Unknown {what} `{short(name, quote=False)}`. {suggest(name, known)}")
