"""Checks of the options of a world, with errors that say what to give instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from oocdm.errors import OocdmError, short, suggest
from oocdm.reading import NotNegative, Range, read

T = TypeVar("T")
MOST = 10**6  # objects of a class


def check_choice(option: str, value: str, known: Mapping[str, T]) -> T:
    """What a named choice stands for.

    >>> check_choice("variant", "papr", {"paper": 1, "released": 2})
    Traceback (most recent call last):
    ...
    oocdm.errors.OocdmError: Option `variant`: unknown value 'papr'. Did you mean `paper`? \
Known: paper, released.
    """
    if not isinstance(value, str) or value not in known:
        hint = suggest(value, known)
        raise OocdmError(f"Option `{option}`: unknown value {short(value)}. {hint}")
    return known[value]


def check_count(option: str, value: Any, low: int = 0) -> int:
    """A whole number that is at least `low`, and no more than worlds may have objects.

    >>> check_count("num_blocks", 5, low=1)
    5
    """
    count: int = read(
        Annotated[int, Range(at_least=low, at_most=MOST)], value, f"Option `{option}`"
    )
    return count


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
    found: float = read(NotNegative, value, f"Option `{option}`")
    return found
