"""What people's functions say of the objects of a step, checked: all that is wrong at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np

from oocdm.data.values import read_value
from oocdm.errors import DataError, short, suggest
from oocdm.schema import Schema

Objects = Mapping[str, Mapping[str | int, Mapping[str, Any]]]  # class, name of the object, field
Cells = dict[tuple[str, str | int], dict[str, np.ndarray | None]]

_FORM = "{class: {object: {field: value}}}"


class ObjectsReader:
    """Reads what is returned for each object: all its fields that are actions, or all others.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> reader = ObjectsReader(Schema(Ball), actions=False)
    >>> reader.read({"Ball": {"red": {"x": 1.5}}}), reader.problems
    ({('Ball', 'red'): {'x': array(1.5, dtype=float32)}}, [])
    """

    def __init__(self, schema: Schema, actions: bool) -> None:
        self.schema, self.actions = schema, actions
        self.problems: list[str] = []
        self._fields = {
            c: {f: kind for f, kind in schema.fields(c).items() if kind.action is actions}
            for c in schema.classes
        }

    def read(self, given: Any, present: Set[tuple[str, str | int]] | None = None) -> Cells:
        """The values of each object; what is wrong is told in `problems`.

        With `present` these objects must be there, if their class has such fields, and no others.
        """
        cells: Cells = {}
        for c, name, values in self._objects(given):
            where = f"`{c}[{short(name)}]`"
            if not isinstance(values, Mapping):
                self._tell(where, "a mapping from its fields to their values", values)
                continue
            if present is not None and (c, name) not in present:
                self.problems.append(
                    f"{where}: expected an object that is there at this step, got one that "
                    "`read_objects` does not have."
                )
                continue
            cells[c, name] = dict(self._values(where, c, values))
        # Whose mistakes were told already are not missing.
        missing = set() if self.problems else (present or set()) - cells.keys()
        for c, name in sorted(missing, key=str):
            if self._fields[c]:
                self.problems.append(
                    f"`{c}[{short(name)}]`: expected {self._wanted(c)}, got nothing of it. Return "
                    "something for each object that is there; None is a missing value."
                )
        return cells

    def _objects(self, given: Any) -> Iterator[tuple[str, str | int, Any]]:
        """The objects in what was returned, as far as they have the right form."""
        if not isinstance(given, Mapping):
            self._tell("", f"a mapping {_FORM}", given)
            return
        for c, objects in given.items():
            if c not in self.schema.classes:
                known = suggest(c, self.schema.classes)
                self.problems.append(f"unknown class `{short(c, quote=False)}`. {known}")
            elif not isinstance(objects, Mapping):
                self._tell(
                    f"class `{c}`", "a mapping from names of objects to their fields", objects
                )
            else:
                for name, values in objects.items():
                    if isinstance(name, str | int | np.integer) and not isinstance(name, bool):
                        yield c, name if isinstance(name, str) else int(name), values
                    else:
                        expected = "objects named by strings or whole numbers"
                        self._tell(f"class `{c}`", expected, name)

    def _values(
        self, where: str, c: str, values: Mapping[Any, Any]
    ) -> Iterator[tuple[str, np.ndarray | None]]:
        fields = self._fields[c]
        for f in values:
            if f not in fields:
                self.problems.append(
                    f"{where}: expected {self._wanted(c)}, got `{short(f, quote=False)}`"
                    f"{self._why_not(c, f)}."
                )
        for f, field in fields.items():
            if f not in values:
                self.problems.append(
                    f"{where}: field `{f}` is missing. If its value is unknown, return None."
                )
            elif values[f] is None:
                yield f, None
            else:
                try:
                    yield f, read_value(f"{where}: field `{f}`", field, values[f], DataError)
                except DataError as error:
                    self.problems.append(str(error))

    def _wanted(self, c: str) -> str:
        kind = "actions" if self.actions else "states and static fields"
        return f"its {kind} {', '.join(self._fields[c]) or '(it has none)'}"

    def _why_not(self, c: str, f: Any) -> str:
        if f not in self.schema.fields(c):
            return ", which the schema does not have"
        return ", which is a state" if self.actions else ", an action, which `read_action` returns"

    def _tell(self, where: str, expected: str, got: Any) -> None:
        start = f"{where}: " if where else ""
        self.problems.append(f"{start}expected {expected}, got {short(got)}.")
