"""Reading a value as the type that a hint declares."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import lru_cache
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np

from oocdm.errors import OocdmError, short, suggest
from oocdm.reading.ranges import ANY, LARGEST, Range

MOST_SHOWN = 10  # problems in one message
MOST_NOTED = 1000  # problems, after which no more are looked for

_NO_ROW = (str, bytes, Mapping)  # what can be iterated over, but is no list of anything


def read(
    hint: Any,
    value: Any,
    where: str,
    error: type[OocdmError] = OocdmError,
    advice: str = "",
    complete: bool = False,
) -> Any:
    """A value as a hint declares it; otherwise one `error` tells of all that is wrong with it.

    NumPy's numbers become Python's, whole numbers are numbers, true and false are not. Numbers are
    finite and fit into 64 bits, or are in the `Range` that stands beside the type. Dataclasses may
    be mappings of their fields; those that are left out have their defaults, unless the value must
    be `complete`, as a file is that was written whole. Hints that the reader does not know allow
    everything.

    >>> read(dict[str, float], {"x": np.int64(2)}, "notes")
    {'x': 2.0}
    >>> read(list[int], [1, "two", 3.5], "steps")
    Traceback (most recent call last):
    ...
    oocdm.errors.OocdmError: steps: 2 problems:
    - `[1]`: expected a whole number, got 'two'.
    - `[2]`: expected a whole number, got 3.5.
    """
    reader = Reader(complete)
    found = reader.read(hint, value, "")
    reader.raise_problems(where, error, advice)
    return found


def read_parts(
    whole: Any, parts: Any, where: str, error: type[OocdmError] = OocdmError
) -> dict[str, Any]:
    """Some fields of a dataclass as it declares them: of a class, or of an instance to change.

    In an instance, what has parts itself may be a mapping of those that change.

    >>> read_parts(Range, {"at_least": 1}, "range")
    {'at_least': 1.0}
    """
    reader = Reader()
    found = reader.parts(whole, parts, "")
    reader.raise_problems(where, error)
    return found


def check_fields(whole: Any, where: str = "", error: type[OocdmError] = OocdmError) -> None:
    """Read the fields of a frozen dataclass in place, for its `__post_init__`.

    A default is never wrong.
    """
    kind: Any = type(whole)
    reader, hints = Reader(), hints_of(kind)
    for field in fields(whole):
        value = getattr(whole, field.name)
        if value is field.default:
            continue
        found = reader.read(hints.get(field.name, Any), value, field.name)
        if found is not value:
            object.__setattr__(whole, field.name, found)
    reader.raise_problems(where or kind.__name__, error)


class Reader:
    """Reads values, and collects their problems, each with its place.

    >>> reader = Reader()
    >>> reader.read(int, "two", "horizon"), reader.problems
    ('two', [('horizon', "expected a whole number, got 'two'.")])
    """

    def __init__(self, complete: bool = False) -> None:
        self.complete = complete
        self.problems: list[tuple[str, str]] = []  # where, and what
        self.is_near = False  # whether a number is only out of its range

    def raise_problems(self, where: str, error: type[OocdmError], advice: str = "") -> None:
        """Raise one error that tells of all problems, if there are any."""
        rows = [f"`{place}`: {what}" if place else what for place, what in self.problems]
        if not rows:
            return
        if len(rows) == 1:
            raise error(f"{where}: {rows[0]} {advice}".strip())
        shown = [f"- {row}" for row in rows[:MOST_SHOWN]]
        least = "at least " if len(rows) > MOST_NOTED else ""
        if len(rows) > MOST_SHOWN:
            shown.append(f"- and {least}{len(rows) - MOST_SHOWN} more.")
        told = "\n".join([f"{where}: {least}{len(rows)} problems:", *shown, advice])
        raise error(told.strip())

    def read(self, hint: Any, value: Any, place: str) -> Any:
        """A value as a hint declares it, or anything if a problem was found."""
        if len(self.problems) > MOST_NOTED:
            return value
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return self.annotated(arguments[0], arguments[1:], value, place)
        if origin in (Required, NotRequired):
            return self.read(arguments[0], value, place)
        if origin in (Union, UnionType):
            return self.either(hint, value, place)
        if origin is Literal:
            return self.choice(hint, value, place)
        if hint in (int, float):
            return self.number(hint, value, place, ANY)
        if hint is bool and isinstance(value, np.bool_):
            return bool(value)
        if is_typeddict(hint):
            return self.table(hint, value, place)
        if isinstance(hint, type) and is_dataclass(hint) and isinstance(value, Mapping):
            return self.build(hint, lambda read: hint(**read), value, place)
        kind = hint if origin is None else origin
        if kind in (list, tuple, Sequence, Iterable):
            return self.row(kind, arguments, value, place)
        if kind in (dict, Mapping):
            return self.mapping(arguments, value, place)
        if not _is_of(value, NoneType if kind is None else kind):
            self.expected(hint, value, place)
        elif isinstance(value, str | os.PathLike) and not _is_text(value):
            self.problems.append((place, f"expected text in UTF-8, got {short(value)}."))
        return value

    def annotated(self, hint: Any, notes: Sequence[Any], value: Any, place: str) -> Any:
        """A value with notes beside its type: a range, and words to add if it is wrong."""
        before = len(self.problems)
        ranges = [note for note in notes if isinstance(note, Range)]
        if hint in (int, float) and ranges:
            found = self.number(hint, value, place, ranges[0])
        else:
            found = self.read(hint, value, place)
        self._advise(before, place, notes)
        return found

    def _advise(self, first: int, place: str, notes: Sequence[Any]) -> None:
        """Add words to the problems of a place, from the first on."""
        words = [note for note in notes if isinstance(note, str)]
        self.problems[first:] = [
            (at, " ".join([what, *words]) if at == place else what)
            for at, what in self.problems[first:]
        ]

    def expected(self, hint: Any, value: Any, place: str) -> None:
        """Note that something else was expected."""
        self.problems.append((place, f"expected {_words(hint)}, got {short(value)}."))

    def number(self, kind: type, value: Any, place: str, allowed: Range) -> Any:
        """A number of a range."""
        is_number = isinstance(value, Integral if kind is int else Real)
        if is_number and not isinstance(value, bool):
            try:
                found = kind(value)
            except OverflowError:  # a whole number that no float can hold
                found = None
            if found is not None and allowed.has(found):
                return found
            self.is_near = True
        self.problems.append((place, f"expected {_number(kind, allowed, value)}."))
        return value

    def either(self, hint: Any, value: Any, place: str) -> Any:
        """One of several types: the first that the value is of."""
        inside: list[tuple[str, str]] = []
        for each in get_args(hint):
            reader = Reader(self.complete)
            found = reader.read(each, value, place)
            if not reader.problems:
                return found
            # Of the right kind, with something wrong in it: that is the problem to tell of.
            if reader.is_near or all(at != place for at, _ in reader.problems):
                inside = reader.problems
        if inside:
            self.problems += inside
        else:
            self.expected(hint, value, place)
            for each in get_args(hint):
                if get_origin(each) is Annotated:
                    self._advise(len(self.problems) - 1, place, get_args(each)[1:])
        return value

    def choice(self, hint: Any, value: Any, place: str) -> Any:
        """One of a few values."""
        known = get_args(hint)
        for each in known:
            if type(value) is type(each) and value == each:
                return each
        if isinstance(value, str):
            hint = suggest(value, map(str, known))
            self.problems.append((place, f"unknown value {short(value)}. {hint}"))
        else:
            self.expected(hint, value, place)
        return value

    def row(self, kind: Any, hints: tuple[Any, ...], value: Any, place: str) -> Any:
        """A list or a tuple."""
        if isinstance(value, np.ndarray):
            value = value.tolist()
        elif kind is Iterable and _is_of(value, Iterable) and not isinstance(value, _NO_ROW):
            value = list(value)
        is_fixed = kind is tuple and bool(hints) and hints[-1] is not ...
        if not isinstance(value, list | tuple) or (is_fixed and len(value) != len(hints)):
            whole = kind[hints] if hints and kind is tuple else kind
            self.expected(whole, value, place)
            return value
        each = hints if is_fixed else (hints[0] if hints else Any,) * len(value)
        read = [
            self.read(hint, item, f"{place}[{i}]")
            for i, (hint, item) in enumerate(zip(each, value, strict=True))
        ]
        return tuple(read) if kind is tuple else read

    def mapping(self, hints: tuple[Any, ...], value: Any, place: str) -> Any:
        """Any keys, each with a value."""
        if not isinstance(value, Mapping):
            self.expected(dict, value, place)
            return value
        of_key, of_value = hints or (Any, Any)
        return {
            self.read(of_key, key, _inside(place, key)): self.read(
                of_value, item, _inside(place, key)
            )
            for key, item in value.items()
        }

    def table(self, hint: Any, value: Any, place: str) -> Any:
        """A mapping with the keys of a TypedDict."""
        if not isinstance(value, Mapping):
            self.expected(dict, value, place)
            return value
        hints = hints_of(hint)
        required = [name for name in hints if _is_required(hint, name, hints[name])]
        self.keys(value, list(hints), required, place)
        return {
            name: self.read(hints[name], item, _inside(place, name))
            for name, item in value.items()
            if name in hints
        }

    def build(
        self, whole: Any, make: Callable[[dict[str, Any]], Any], value: Any, place: str
    ) -> Any:
        """A dataclass from its parts, which it may refuse together."""
        before = len(self.problems)
        read = self.parts(whole, value, place)
        if len(self.problems) > before:
            return value
        try:
            return make(read)
        except OocdmError as error:
            self.problems.append((place, str(error)))
            return value

    def parts(self, whole: Any, value: Any, place: str) -> dict[str, Any]:
        """The fields of a dataclass that a mapping has, of a class or an instance to change."""
        is_class = isinstance(whole, type)
        if not isinstance(value, Mapping):
            self.expected(dict, value, place)
            return {}
        kind: Any = whole if is_class else type(whole)
        known, hints = {f.name: f for f in fields(kind) if f.init}, hints_of(kind)
        required = [
            name
            for name, field in known.items()
            # Fields whose hints mean nothing here may not even be meant as such.
            if is_class and (_is_needed(field) or (self.complete and name in hints))
        ]
        self.keys(value, list(known), required, place)
        read = {}
        for name, item in value.items():
            if name not in known:
                continue
            inside, own = _inside(place, name), None if is_class else getattr(whole, name)
            if is_dataclass(own) and isinstance(item, Mapping):
                read[name] = self.build(own, _changing(own), item, inside)
            elif item is known[name].default:
                read[name] = item  # a default is never wrong
            else:
                read[name] = self.read(hints.get(name, Any), item, inside)
        return read

    def keys(
        self, value: Mapping[Any, Any], known: list[str], required: list[str], place: str
    ) -> None:
        """Note keys that are not known, and those that are missing."""
        for key in value:
            if len(self.problems) > MOST_NOTED:
                return
            if key not in known:
                hint = suggest(str(key), known)
                self.problems.append((place, f"there is no `{short(key, quote=False)}`. {hint}"))
        for name in required:
            if name not in value:
                self.problems.append((place, f"`{name}` is missing."))


def _changing(own: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda read: replace(own, **read)


def _inside(place: str, key: Any) -> str:
    name = short(key, quote=False)
    return f"{place}.{name}" if place else name


def _is_needed(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _is_required(table: Any, name: str, hint: Any) -> bool:
    """Whether a TypedDict must have a key; it cannot see into hints that were strings itself."""
    if get_origin(hint) in (Required, NotRequired):
        return get_origin(hint) is Required
    return name in table.__required_keys__


@lru_cache(maxsize=256)
def hints_of(kind: Any) -> dict[str, Any]:
    """The hints of a class or a function, less those that have no meaning at run time.

    >>> hints_of(Range)["at_least"]
    float | None
    """
    found: dict[str, Any] = {}
    for each in reversed(getattr(kind, "__mro__", (kind,))):
        module = sys.modules.get(each.__module__)  # none of code that was only executed
        known = getattr(each, "__globals__", None) or (vars(module) if module else {})
        for name, hint in inspect.get_annotations(each).items():
            found.pop(name, None)
            one = SimpleNamespace(__annotations__={name: hint})
            with suppress(Exception):  # whatever the code in a hint raises
                found |= get_type_hints(one, known, include_extras=True)
    return found


def _is_text(value: Any) -> bool:
    """Whether files can be named so: no lone half of a character, no end in the middle."""
    text = os.fspath(value)
    try:
        return isinstance(text, str) and "\0" not in text and bool(text.encode() or True)
    except UnicodeEncodeError:
        return False


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a class; other hints allow everything."""
    if not inspect.isclass(kind):
        return True
    try:
        return isinstance(value, kind)
    except TypeError:  # protocols that cannot be asked
        return True


# ---------------------------------------------------------------- words

_WORDS: dict[Any, str] = {
    **{int: "a whole number", float: "a number", bool: "true or false", str: "text"},
    **{NoneType: "None", None: "None", dict: "a mapping", Mapping: "a mapping", list: "a list"},
    **{tuple: "a list", Sequence: "a list", Iterable: "a list", Callable: "a function"},
    **{Path: "a path", os.PathLike: "a path"},
}


def _words(hint: Any) -> str:
    """What is expected, such as "a whole number or None"."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        ranges = [note for note in arguments[1:] if isinstance(note, Range)]
        return _words(arguments[0]) + (ranges[0].words if ranges else "")
    if origin in (Union, UnionType):
        is_number = float in arguments  # and so are whole ones
        return " or ".join(_words(each) for each in arguments if each is not int or not is_number)
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if origin is tuple and arguments and arguments[-1] is not ...:
        return f"a list of {len(arguments)}"
    if is_typeddict(hint):
        return "a mapping"
    kind = hint if origin is None else origin
    if kind in _WORDS:
        return _WORDS[kind]
    name = getattr(kind, "__name__", str(kind))
    return f"a {name} or a mapping of its parts" if is_dataclass(kind) else f"a {name}"


def _number(kind: type, allowed: Range, value: Any) -> str:
    """The words of a number that is not right, and why if that is not plain."""
    words = _WORDS[kind] + allowed.words
    if isinstance(value, Real) and not isinstance(value, bool):
        if kind is float and allowed.is_finite and not _is_finite(value):
            words = f"a finite {words.removeprefix('a ')}"
        elif kind is int and isinstance(value, Integral) and abs(int(value)) > LARGEST:
            words += " that fits into 64 bits"
    return f"{words}, got {short(value)}"


def _is_finite(value: Real) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False
