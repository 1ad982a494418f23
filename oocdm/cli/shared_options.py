"""Options that several verbs take: a dataclass of them stands for one option a field."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any


def spread(run: Callable[..., None]) -> Callable[..., None]:
    """A verb that takes each field of its dataclasses as an option of its own.

    >>> @dataclasses.dataclass
    ... class Colours:
    ...     ink: str = "black"
    ...     paper: str = "white"
    >>> @spread
    ... def paint(*, name: str, colours: Colours) -> None:
    ...     print(name, colours)
    >>> list(inspect.signature(paint).parameters)
    ['name', 'ink', 'paper']
    >>> paint(name="wall", ink="red")
    wall Colours(ink='red', paper='white')
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type[Any]] = {}
    for name, parameter in inspect.signature(run, eval_str=True).parameters.items():
        group = parameter.annotation
        if isinstance(group, type) and dataclasses.is_dataclass(group):
            groups[name] = group
            parameters += inspect.signature(group, eval_str=True).parameters.values()
        else:
            parameters.append(parameter)

    @functools.wraps(run)
    def flat(**values: Any) -> None:
        for name, group in groups.items():
            known = [f.name for f in dataclasses.fields(group) if f.name in values]
            values[name] = group(**{field: values.pop(field) for field in known})
        run(**values)

    # By keyword, since then those with a default may come before those without.
    by_keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    flat.__signature__ = inspect.Signature(by_keyword)  # type: ignore[attr-defined]
    flat.__annotations__ = {p.name: p.annotation for p in by_keyword}
    return flat
