"""Options of methods, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from oocdm.errors import ModelError


def check_at_least(method: Any, low: int, *options: str) -> None:
    """Raise a `ModelError` unless these options are whole numbers of at least `low`, or None.

    >>> from oocdm.methods.grader import Grader
    >>> check_at_least(Grader(workers=2), 1, "workers", "encoding")
    """
    for option in options:
        value = getattr(method, option)
        is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if value is not None and not (is_whole and value >= low):
            raise ModelError(
                f"Method `{method.name}`: `{option}`: expected a whole number of at least {low}, "
                f"got {value!r}."
            )


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
