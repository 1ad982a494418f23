"""The one family of errors that oocdm raises for a user's mistakes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from numbers import Integral
from typing import Any


class OocdmError(Exception):
    """Base of every error that tells the user what to change.

    >>> try:
    ...     raise OocdmError("Field `Block.s1`: expected a number.")
    ... except OocdmError as error:
    ...     print(error)
    Field `Block.s1`: expected a number.
    """


class SchemaError(OocdmError):
    """A schema is malformed, or names a class or field that does not exist."""


class DataError(OocdmError):
    """Logged data do not fit their schema, or cannot be read."""


class GraphError(OocdmError):
    """A causal graph does not fit the schema, or a graph file cannot be read."""


class ModelError(OocdmError):
    """A model, run folder or checkpoint cannot be built, used or read."""


class FileError(OocdmError):
    """A file or folder cannot be read or written."""


class PlanError(OocdmError):
    """A task or planner cannot be used as asked."""


def suggest(name: str, known: Iterable[str]) -> str:
    """The end of an "unknown name" message: the nearest known name, and all of them.

    >>> suggest("Blok", ["Block", "Total"])
    'Did you mean `Block`? Known: Block, Total.'
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if not near:
        lowered = {n.lower(): n for n in names}
        near = [lowered[m] for m in difflib.get_close_matches(name.lower(), lowered, n=1)]
    hint = f"Did you mean `{near[0]}`? " if near else ""
    return f"{hint}Known: {', '.join(names)}."


def read_count(
    where: str, value: Any, error: type[OocdmError], advice: str = "", least: int = 1
) -> int:
    """A whole number, also one of NumPy's; anything else or less than `least` raises `error`.

    >>> import numpy as np
    >>> read_count("horizon", np.int64(20), OocdmError)
    20
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise error(
            f"{where}: expected a whole number of at least {least}, got {value!r}. {advice}".strip()
        )
    return int(value)
