"""Arguments of functions, read as their hints declare them."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from oocdm.errors import OocdmError
from oocdm.reading.reader import Reader, hints_of

P = ParamSpec("P")
T = TypeVar("T")

_PLAIN = {int, float, bool, str, None, NoneType, Any, ..., Path, os.PathLike, Callable}
# What torch says where it gets no memory, or where not even the bytes can be counted.
_OF_MEMORY = ("DefaultCPUAllocator", "out of memory", "Storage size calculation overflowed")
_CONTAINERS = {Union, UnionType, list, tuple, dict, Iterable, Sequence, Mapping}


def checked(error: type[OocdmError]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Read the plain arguments of a function before it is called: numbers, texts, paths, functions.

    What is wrong raises one `error` that starts with the function's name. Of other classes those
    are checked that have a note beside them, such as `Annotated[Task, "Make one: Task(...)."]`.

    >>> from oocdm.reading import Count
    >>> @checked(OocdmError)
    ... def draw(samples: Count = 100) -> int:
    ...     return samples
    >>> draw(0)
    Traceback (most recent call last):
    ...
    oocdm.errors.OocdmError: draw: `samples`: expected a whole number of at least 1, got 0.
    """

    def decorate(run: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(run)
        where = run.__qualname__.removesuffix(".__init__").rpartition("<locals>.")[2]
        hints: dict[str, Any] = {}

        @functools.wraps(run)
        def called(*args: P.args, **kwargs: P.kwargs) -> T:
            given = signature.bind(*args, **kwargs)
            if not hints:  # all that they name is known by the first call
                found = hints_of(inspect.unwrap(run))
                hints.update({n: h for n, h in found.items() if _is_checked(h)}, **{"return": Any})
            reader = Reader()
            for name, value in given.arguments.items():
                parameter = signature.parameters[name]
                if name in hints and value is not parameter.default:
                    given.arguments[name] = reader.read(hints[name], value, name)
            reader.raise_problems(where, error)
            try:
                return run(*given.args, **given.kwargs)
            except (MemoryError, RuntimeError) as problem:
                if not _is_of_memory(problem):
                    raise
                raise error(
                    f"{where}: there is not enough memory for that ({str(problem)[:200]}). Ask "
                    "for less at once: fewer samples, steps or worlds, or smaller sizes."
                ) from None

        return called

    return decorate


def _is_of_memory(problem: Exception) -> bool:
    """Whether NumPy or torch got no memory; of others torch says nothing but a text."""
    return isinstance(problem, MemoryError) or any(t in str(problem) for t in _OF_MEMORY)


def _is_checked(hint: Any) -> bool:
    """Whether a hint is plain, or has a note beside it."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Annotated, Literal):
        return True
    if origin in _CONTAINERS:
        return all(map(_is_checked, arguments))
    return (hint if origin is None else origin) in _PLAIN
