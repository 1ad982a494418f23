"""The one family of errors that oocdm raises for a user's mistakes."""

from __future__ import annotations

import difflib
import math
import reprlib
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

    Lines that quote megabytes are shortened in the middle.

    >>> len(str(OocdmError("x" * 10**6)))
    800
    """

    def __init__(self, message: str = "") -> None:
        super().__init__("\n".join(map(_cut, str(message).split("\n"))))


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


LONGEST_LINE = 800  # of a message, in characters
LONGEST_VALUE = 120  # of a value that a message quotes
MOST_NAMES = 40  # that a message lists


def _cut(text: str, longest: int = LONGEST_LINE) -> str:
    """A text, shortened in the middle: its beginning says where, its end what to do."""
    if len(text) <= longest:
        return text
    end = (longest - 5) // 3
    return f"{text[: longest - 5 - end]} ... {text[-end:]}"


class _Short(reprlib.Repr):
    """How values are quoted in messages."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = LONGEST_VALUE

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to write very long numbers, and is slow at long ones.
        digits = int(x.bit_length() * math.log10(2)) + 1
        return repr(x) if digits <= 40 else f"a whole number of about {digits} digits"


def short(value: Any, quote: bool = True) -> str:
    """A value as a message quotes it, shortened if it is long; without quotes a text is bare.

    >>> short([1, "two"]), short("x", quote=False), short(10**400)
    ("[1, 'two']", 'x', 'a whole number of about 401 digits')
    """
    if getattr(value, "shape", None) == ():  # one of NumPy's numbers, which Python writes shorter
        value = value.item()
    if isinstance(value, str) and not quote:
        return _cut(value, LONGEST_VALUE)
    return _cut(_Short().repr(value), LONGEST_VALUE)


def suggest(name: Any, known: Iterable[str]) -> str:
    """The end of an "unknown name" message: the nearest known name, and all of them.

    >>> suggest("Blok", ["Block", "Total"])
    'Did you mean `Block`? Known: Block, Total.'
    """
    names, name = list(known), short(name, quote=False)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if not near:
        lowered = {n.lower(): n for n in names}
        near = [lowered[m] for m in difflib.get_close_matches(name.lower(), lowered, n=1)]
    hint = f"Did you mean `{near[0]}`? " if near else ""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{hint}Known: {', '.join(names[:MOST_NAMES])}{more}."


def read_count(
    where: str, value: Any, error: type[OocdmError], advice: str = "", least: int = 1
) -> int:
    """A whole number, also one of NumPy's; anything else or less than `least` raises `error`.

    >>> import numpy as np
    >>> read_count("horizon", np.int64(20), OocdmError)
    20
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        expected = f"expected a whole number of at least {least}, got {short(value)}."
        raise error(f"{where}: {expected} {advice}".strip())
    return int(value)
