"""How much is read from files that nobody vouches for."""

from __future__ import annotations

import math
import os
from typing import Any

from oocdm.errors import FileError, OocdmError

VARIABLE = "OOCDM_LIMITS"  # of the environment: multiplies all limits

LIMITS: dict[str, int] = {
    "bytes of JSON": 100 * 10**6,
    "values of JSON": 10 * 10**6,
    "levels of JSON": 50,
    "characters of a number": 100,
    "bytes of weights": 4 * 10**9,
    "bytes of Parquet": 8 * 10**9,
    # Of a table that takes more than 50 times its size on disk: 10 million rows of 10 numbers.
    "bytes of a table": 10**9,
}


def check_limit(where: Any, what: str, got: int, error: type[OocdmError], most: int = 0) -> None:
    """Raise an `error` if there is more of something than is read, with what raises the limit.

    >>> check_limit("graph.json", "levels of JSON", 60, FileError)
    Traceback (most recent call last):
    ...
    oocdm.errors.FileError: `graph.json`: expected at most 50 levels of JSON, got 60. If that is \
right, and you trust the file, raise all limits: set the environment variable OOCDM_LIMITS=2.
    """
    allowed = max(LIMITS[what], most)
    if got > allowed * _factor():
        raise error(
            f"`{where}`: expected at most {allowed * _factor():,.0f} {what}, got {got:,}. If that "
            "is right, and you trust the file, raise all limits: set the environment variable "
            f"{VARIABLE}={math.ceil(got / allowed)}."
        )


def _factor() -> float:
    text = os.environ.get(VARIABLE, "1")
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 1 <= factor < math.inf:
        raise FileError(
            f"{VARIABLE}: expected a number from 1 on, by which limits are multiplied, got "
            f"{text!r}. Change that environment variable, or remove it."
        )
    return factor
