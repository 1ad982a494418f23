"""Values of fields as a person writes them."""

from __future__ import annotations

from oocdm.schema import Boolean, Field

DIGITS, MOST_DIGITS = 4, 17  # of numbers; with the most of them no two are written alike


def in_words(field: Field, value: object, digits: int = DIGITS) -> str:
    """A value as a person writes it: the name of a category, True or False, a short number.

    >>> from oocdm.schema import Categorical
    >>> in_words(Categorical(["north", "south"]), 1), in_words(Boolean(), 1)
    ('south', 'True')
    """
    if isinstance(value, list):
        return f"({', '.join(in_words(field, each, digits) for each in value)})"
    if field.names and isinstance(value, int):
        return field.names[value]
    if isinstance(field, Boolean):
        return str(bool(value))
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def both_in_words(field: Field, one: object, other: object) -> tuple[str, str]:
    """Two values, with as many digits as it takes to tell them apart.

    >>> from oocdm.schema import Real
    >>> both_in_words(Real(), 11.361, 11.364)
    ('11.361', '11.364')
    """
    for digits in range(DIGITS, MOST_DIGITS + 1):
        words = in_words(field, one, digits), in_words(field, other, digits)
        if words[0] != words[1]:
            break
    return words


def counted(number: int, what: str) -> str:
    """A number of things, in the singular if it is one.

    >>> counted(1, "world"), counted(2000, "step")
    ('1 world', '2,000 steps')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
