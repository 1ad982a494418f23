"""Options of methods, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from oocdm.errors import ModelError, read_count, suggest
from oocdm.methods.method import AbstractMethod

# Whole numbers are numbers, too.
_ACCEPTED: dict[Any, Any] = {float: (float, int)}
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", NoneType: "None"}


def read_options(defaults: AbstractMethod, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a method, of the types that it declares; NumPy's numbers become Python's.

    Options with parts, such as a schedule, may be a mapping, which changes the parts that it names.

    >>> from oocdm.methods.mlp import Mlp
    >>> read = read_options(Mlp(), {"width": np.int64(8), "schedule": {"iterations": 3}})
    >>> read["width"], read["schedule"].iterations, read["schedule"].batch_size
    (8, 3, 256)
    """
    return _read(f"Method `{defaults.name}`", defaults, options)


def _read(where: str, defaults: Any, changes: Mapping[str, Any]) -> dict[str, Any]:
    """What changes some fields of a dataclass, checked by their types."""
    hints, read = get_type_hints(type(defaults)), {}
    for name, value in changes.items():
        here, default = f"{where}: `{name}`", getattr(defaults, name)
        has_parts = is_dataclass(default)
        if has_parts and isinstance(value, Mapping):
            _check_parts(here, default, value)
            read[name] = replace(default, **_read(here, default, value))
            continue
        read[name] = value.item() if isinstance(value, np.generic) else value
        allowed = _alternatives(hints[name])
        if not any(_is_of(read[name], kind) for kind in allowed):
            expected = " or ".join(_WORDS.get(t, f"a {t.__name__}") for t in allowed)
            raise ModelError(f"{here}: expected {expected}, got {value!r}.")
    return read


def _check_parts(where: str, whole: Any, changes: Mapping[str, Any]) -> None:
    parts = [f.name for f in fields(whole)]
    for part in changes:
        if part not in parts:
            raise ModelError(f"{where}: there is no `{part}`. {suggest(str(part), parts)}")


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


def check_at_least(method: Any, low: int, *options: str) -> None:
    """Raise a `ModelError` unless these options are whole numbers of at least `low`, or None.

    >>> from oocdm.methods.grader import Grader
    >>> check_at_least(Grader(workers=2), 1, "workers", "encoding")
    """
    for option in options:
        if getattr(method, option) is not None:
            where = f"Method `{method.name}`: `{option}`"
            read_count(where, getattr(method, option), ModelError, least=low)
