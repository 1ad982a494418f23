"""One value of a field, as a person gives it."""

from __future__ import annotations

from typing import Any

import numpy as np

from oocdm.errors import OocdmError, suggest
from oocdm.schema import Categorical, Field


def read_value(where: str, field: Field, value: Any, error: type[OocdmError]) -> np.ndarray:
    """A value as an array of the field's shape and dtype; a name of a category as its number.

    What the field does not allow raises `error` with a message that starts with `where`.

    >>> read_value("do `Mouse[0].move`", Categorical(["north", "south"]), "south", OocdmError)
    array(1)
    """
    if isinstance(value, str):
        value = _number_of(where, field, value, error)
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise error(
            f"{where}: expected {_numbers(field)}, got {value!r}. Give it as the field is logged."
        ) from None
    if numbers.shape != field.shape:
        raise error(f"{where}: expected a value of shape {field.shape}, got {value!r}.")
    is_allowed = np.isfinite(numbers) & ~field.out_of_domain(numbers)
    if field.dtype is not np.float32:
        is_allowed &= numbers == np.round(numbers)
    if not is_allowed.all():
        raise error(
            f"{where}: expected {_numbers(field)}, got {value!r}. The schema declares what the "
            "field allows."
        )
    return numbers.astype(field.dtype)


def _number_of(where: str, field: Field, name: str, error: type[OocdmError]) -> int:
    names = field.names if isinstance(field, Categorical) else None
    if names is None:
        raise error(f"{where}: expected {_numbers(field)}, got {name!r}. It has no named values.")
    if name not in names:
        raise error(f"{where}: unknown value {name!r}. {suggest(name, names)}")
    return names.index(name)


def _numbers(field: Field) -> str:
    """In words, which numbers a field allows.

    >>> from oocdm.schema import Integer, Real
    >>> _numbers(Integer(0, 7, shape=(2,))), _numbers(Real(high=10.0))
    ('2 whole numbers from 0 to 7', 'a finite number of at most 10.0')
    """
    kind = "finite number" if field.dtype is np.float32 else "whole number"
    what = f"a {kind}" if field.shape == () else f"{field.size} {kind}s"
    if field.low is None and field.high is None:
        return what
    if field.low is None:
        return f"{what} of at most {field.high}"
    if field.high is None:
        return f"{what} of at least {field.low}"
    return f"{what} from {field.low} to {field.high}"
