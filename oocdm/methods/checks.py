"""Options of methods, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from oocdm.data.values import read_count
from oocdm.errors import ModelError, suggest
from oocdm.methods.method import AbstractMethod, Schedule

# Whole numbers are numbers, too.
_ACCEPTED: dict[Any, Any] = {float: (float, int)}
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", NoneType: "None"}


def read_options(method: type[AbstractMethod], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a method, of the types that it declares; NumPy's numbers become Python's.

    >>> from oocdm.methods.mlp import Mlp
    >>> read_options(Mlp, {"width": np.int64(8)})
    {'width': 8}
    """
    hints = get_type_hints(method)
    read = {}
    for option, value in options.items():
        read[option] = value.item() if isinstance(value, np.generic) else value
        allowed = _alternatives(hints[option])
        if not any(_is_of(read[option], kind) for kind in allowed):
            expected = " or ".join(_WORDS.get(t, f"a {t.__name__}") for t in allowed)
            raise ModelError(
                f"Method `{method.name}`: `{option}`: expected {expected}, got {value!r}."
            )
    return read


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """The types that `int | None` allows."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a type; those with parts, such as `tuple[int, ...]`, are not looked at.

    True and false are no numbers.
    """
    if not isinstance(kind, type):
        return True
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, _ACCEPTED.get(kind, kind))


def changed(schedule: Schedule, changes: Mapping[str, Any]) -> Schedule:
    """A schedule with some of its numbers changed.

    >>> changed(Schedule(), {"iterations": 3}).iterations
    3
    """
    parts = [f.name for f in fields(schedule)]
    for part in changes:
        if part not in parts:
            raise ModelError(f"schedule: there is no `{part}`. {suggest(part, parts)}")
    return replace(schedule, **changes)


def check_at_least(method: Any, low: int, *options: str) -> None:
    """Raise a `ModelError` unless these options are whole numbers of at least `low`, or None.

    >>> from oocdm.methods.grader import Grader
    >>> check_at_least(Grader(workers=2), 1, "workers", "encoding")
    """
    for option in options:
        if getattr(method, option) is not None:
            where = f"Method `{method.name}`: `{option}`"
            read_count(where, getattr(method, option), ModelError, least=low)
