"""Checks of the options of a world, with errors that say what to give instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from oocdm.errors import OocdmError, read_count, suggest

T = TypeVar("T")


def check_choice(option: str, value: str, known: Mapping[str, T]) -> T:
    """What a named choice stands for.

    >>> check_choice("variant", "papr", {"paper": 1, "released": 2})
    Traceback (most recent call last):
    ...
    oocdm.errors.OocdmError: Option `variant`: unknown value 'papr'. Did you mean `paper`? \
Known: paper, released.
    """
    if value not in known:
        hint = suggest(str(value), known)
        raise OocdmError(f"Option `{option}`: unknown value {value!r}. {hint}")
    return known[value]


def check_count(option: str, value: Any, low: int = 0) -> int:
    """A whole number that is at least `low`.

    >>> check_count("num_blocks", 5, low=1)
    5
    """
    return read_count(f"Option `{option}`", value, OocdmError, least=low)


def check_range(option: str, value: Any) -> tuple[int, int]:
    """The lowest and highest number of objects, given as one number or as both.

    >>> check_range("num_food", 4), check_range("num_food", (3, 6))
    ((4, 4), (3, 6))
    """
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    low, high = (check_count(option, v) for v in (value if is_pair else (value, value)))
    if low > high:
        raise OocdmError(
            f"Option `{option}`: expected (low, high) with low <= high, got {value!r}."
        )
    return low, high


def check_scale(option: str, value: Any) -> float:
    """A finite number that is at least 0.

    >>> check_scale("noise", 0.01)
    0.01
    """
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0 <= value < np.inf:
        raise OocdmError(f"Option `{option}`: expected a number >= 0, got {value!r}.")
    return float(value)
