"""Values of fields and whole numbers, as a person gives and reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from oocdm.errors import OocdmError, short, suggest
from oocdm.schema import Field

TOO_LARGE = (
    "If it stands for an unknown value, blank it; otherwise choose another unit, or subtract a "
    "number near all of them."
)


def read_value(where: str, field: Field, value: Any, error: type[OocdmError]) -> np.ndarray:
    """A value as an array of the field's shape and dtype; a name of a category as its number.

    What the field does not allow raises `error` with a message that starts with `where`.

    >>> from oocdm.schema import Categorical
    >>> read_value("do `Mouse[0].move`", Categorical(["north", "south"]), "south", OocdmError)
    array(1)
    """
    numbers = read_numbers(where, field, value, error)
    if numbers.shape != field.shape:
        raise error(f"{where}: expected a value of shape {field.shape}, got {value!r}.")
    if not is_allowed(field, numbers).all():
        raise error(not_allowed(where, field, value))
    return numbers.astype(field.dtype)


def read_numbers(where: str, field: Field, values: Any, error: type[OocdmError]) -> np.ndarray:
    """Values, one or many, as numbers of any shape; names of categories as their numbers.

    >>> from oocdm.schema import Categorical
    >>> field = Categorical(["north", "south"])
    >>> read_numbers("Action `Mouse.move`", field, ["south", "north"], OocdmError)
    array([1., 0.])
    """
    try:
        given = np.asarray(values)
        if given.dtype.kind == "U":
            numbers = [_number_of(where, field, name, error) for name in given.ravel().tolist()]
            return np.array(numbers, np.float64).reshape(given.shape)
        return as_floats(given)
    except (TypeError, ValueError):
        raise error(
            f"{where}: expected {_numbers(field)}, got {short(values)}. Give it as the field is "
            "logged."
        ) from None


def as_floats(given: np.ndarray) -> np.ndarray:
    """Numbers in double precision; a `TypeError` or `ValueError` if some are none.

    >>> as_floats(np.array([1, True], dtype=object))
    array([1., 1.])
    """
    if given.dtype.kind not in "biufO":  # dates are no numbers, and complex ones would lose a part
        raise TypeError(f"{given.dtype} is no type of numbers")
    try:
        return given.astype(np.float64)
    except OverflowError as error:
        raise ValueError(str(error)) from None


def is_allowed(field: Field, numbers: np.ndarray) -> np.ndarray:
    """A mask of the numbers that a field allows, each as the field would hold it.

    >>> from oocdm.schema import Integer, Real
    >>> is_allowed(Integer(2, 5), np.array([2, 3.7, 99]))
    array([ True, False, False])
    >>> is_allowed(Real(0.0, 0.3), np.array([float(np.float32(0.3))]))  # a little above 0.3
    array([ True])
    """
    is_whole = not field.is_real
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
        held: np.ndarray = numbers.astype(np.float64 if is_whole else np.float32)
    allowed: np.ndarray = np.isfinite(held) & ~field.out_of_domain(held)
    return allowed & (held == np.round(held)) if is_whole else allowed


def is_too_large(field: Field, numbers: np.ndarray) -> np.ndarray:
    """A mask of the numbers that are larger than any model can reckon with.

    >>> from oocdm.schema import Real
    >>> is_too_large(Real(), np.array([-1e17, -1e30]))
    array([False,  True])
    """
    with np.errstate(over="ignore"):  # of numbers of half precision none is too large
        # Not by `abs`: the lowest int64 has none.
        return np.asarray((numbers > field.largest) | (numbers < -field.largest))


def describe_size(field: Field) -> str:
    """In words, how large numbers may be.

    >>> from oocdm.schema import Real
    >>> describe_size(Real())
    'a number from -1e+18 to 1e+18'
    """
    return f"a number from {-field.largest} to {field.largest}"


def check_allowed(where: str, field: Field, objects: np.ndarray, error: type[OocdmError]) -> None:
    """Raise `error` if some of the objects, (object, *shape), have what a field does not allow.

    >>> from oocdm.schema import Integer
    >>> check_allowed("Action `Ant.level`", Integer(2, 5), np.array([2, 5]), OocdmError)
    """
    wrong = ~is_allowed(field, objects).reshape(len(objects), field.size).all(1)
    if wrong.any():
        first = objects[wrong][0]
        is_whole = not field.is_real and bool((first == np.round(first)).all())
        raise error(not_allowed(where, field, (first.astype(int) if is_whole else first).tolist()))


def not_allowed(where: str, field: Field, value: Any) -> str:
    """The message about a value that a field does not allow.

    >>> from oocdm.schema import Integer
    >>> print(not_allowed("do `Ant[0].level`", Integer(2, 5), 9))
    do `Ant[0].level`: expected a whole number from 2 to 5, got 9. The schema declares what the \
field allows.
    """
    return (
        f"{where}: expected {_numbers(field)}, got {value!r}. The schema declares what the field "
        "allows."
    )


def say_objects(counts: np.ndarray) -> str:
    """How many objects there are in each of several steps or worlds, in words.

    >>> say_objects(np.array([2, 3, 2])), say_objects(np.array([1, 1]))
    ('2 to 3 objects', '1 object')
    """
    low, high = int(counts.min(initial=counts.max(initial=0))), int(counts.max(initial=0))
    amount = str(high) if low == high else f"{low} to {high}"
    return f"{amount} object{'' if high == 1 else 's'}"


def _number_of(where: str, field: Field, name: str, error: type[OocdmError]) -> int:
    if not field.names:
        raise error(f"{where}: expected {_numbers(field)}, got {name!r}. It has no named values.")
    if name not in field.names:
        raise error(f"{where}: unknown value {name!r}. {suggest(name, field.names)}")
    return field.names.index(name)


def _numbers(field: Field) -> str:
    """In words, which numbers a field allows.

    >>> from oocdm.schema import Integer, Real
    >>> _numbers(Integer(0, 7, shape=(2,))), _numbers(Real(high=10.0))
    ('2 whole numbers from 0 to 7', 'a finite number of at most 10.0')
    """
    kind = "finite number" if field.is_real else "whole number"
    what = f"a {kind}" if field.shape == () else f"{field.size} {kind}s"
    if field.low is None and field.high is None:
        return what
    if field.low is None:
        return f"{what} of at most {field.high}"
    if field.high is None:
        return f"{what} of at least {field.low}"
    return f"{what} from {field.low} to {field.high}"
