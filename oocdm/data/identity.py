"""A field that says which object is which, for objects of a class that differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from oocdm.data.cells import Cells
from oocdm.data.log import Log
from oocdm.errors import DataError, suggest
from oocdm.schema import Categorical, Field, ObjectClass, Schema


def identity_fields(
    log: Log, cells: Mapping[str, Cells], name: str, counts: Mapping[str, int] | None
) -> dict[str, Categorical]:
    """The field of each class that has more than one object: a number for each of them.

    Raises a `DataError` if it cannot be.
    """
    found = {}
    for c in counts or {}:
        if c not in cells:
            raise DataError(f"with_identity: unknown class `{c}`. {suggest(c, cells)}")
    for c, each in cells.items():
        used = int(each.places.widths.max(initial=0))
        num = used if counts is None else counts.get(c, used)
        if type(num) is not int or num < used:
            raise DataError(
                f"with_identity: counts[{c!r}]: expected a whole number of at least {used}, as "
                f"many objects as the data have, got {num!r}."
            )
        if name in log.schema.fields(c):
            raise DataError(
                f"with_identity: class `{c}`: expected no field `{name}`, but it has one. Choose "
                "another name, such as with_identity('number')."
            )
        if num > 1:
            found[c] = Categorical(num, static=True)
    return found


def with_fields(schema: Schema, added: Mapping[str, Mapping[str, Field]]) -> Schema:
    """A schema with further fields of some classes, behind their own.

    >>> class Ball(ObjectClass):
    ...     colour = Categorical(2)
    >>> more = with_fields(Schema(Ball), {"Ball": {"identity": Categorical(3, static=True)}})
    >>> list(more.fields("Ball"))
    ['colour', 'identity']
    """
    return Schema(
        *(
            type(c, (ObjectClass,), {**cls.fields, **added.get(c, {})})
            for c, cls in schema.classes.items()
        )
    )


def with_numbers(cells: Cells, name: str, field: Field) -> Cells:
    """Cells with the number of each object, its place, as a field that is always known."""
    numbers = cells.places.place.astype(field.dtype)
    known = np.ones(len(numbers), dtype=bool)
    return replace(
        cells,
        values={**cells.values, name: numbers},
        observed={**cells.observed, name: known},
    )
