"""Options of methods, checked."""

from __future__ import annotations

from typing import Any

from oocdm.data.values import read_count
from oocdm.errors import ModelError


def check_at_least(method: Any, low: int, *options: str) -> None:
    """Raise a `ModelError` unless these options are whole numbers of at least `low`, or None.

    >>> from oocdm.methods.grader import Grader
    >>> check_at_least(Grader(workers=2), 1, "workers", "encoding")
    """
    for option in options:
        if getattr(method, option) is not None:
            where = f"Method `{method.name}`: `{option}`"
            read_count(where, getattr(method, option), ModelError, least=low)


def check_even(method: Any, *options: str) -> None:
    """Raise a `ModelError` if one of these options is an odd number: two heads share it.

    >>> from oocdm.methods.cdl_a import CdlA
    >>> check_even(CdlA(keys=32), "keys")
    """
    for option in options:
        value = getattr(method, option)
        if value is not None and value % 2:
            raise ModelError(
                f"Method `{method.name}`: `{option}`: expected an even number, since two heads "
                f"share it, got {value!r}."
            )
