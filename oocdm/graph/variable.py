"""Single variables: one field of one object each, and their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from oocdm.errors import GraphError, SchemaError, short
from oocdm.schema import Schema

_NAME = re.compile(r"(?P<class>[^\s\[\].,]+)\[(?P<object>[0-9]{1,9})\]\.(?P<field>[^\s\[\].,]+)")


class Variable(NamedTuple):
    """One field of one object, as a variable graph names it.

    >>> str(Variable("Block", 0, "s1"))
    'Block[0].s1'
    """

    class_name: str
    object: int
    field_name: str

    def __str__(self) -> str:
        return f"{self.class_name}[{self.object}].{self.field_name}"

    @staticmethod
    def parse(name: str) -> Variable:
        """Read a name such as `Block[0].s1`.

        >>> tuple(Variable.parse("Block[0].s1"))
        ('Block', 0, 's1')
        """
        found = _NAME.fullmatch(name) if isinstance(name, str) else None
        if found is None:
            raise GraphError(
                f"Variable `{short(name, quote=False)}`: expected the form `Block[0].s1`."
            )
        return Variable(found["class"], int(found["object"]), found["field"])

    @staticmethod
    def of(schema: Schema, name: str) -> Variable:
        """Read the name of a variable that a schema has a field for."""
        variable = Variable.parse(name)
        try:
            schema.field(variable.class_name, variable.field_name)
        except SchemaError as error:
            raise GraphError(f"Variable `{name}` is not of this schema. {error}") from None
        return variable


def variable_names(
    schema: Schema, counts: Mapping[str, int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All inputs and all outputs of a step with so many objects, object by object.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(action=True)
    >>> variable_names(Schema(Ball), {"Ball": 1})
    (('Ball[0].x', 'Ball[0].push'), ('Ball[0].x',))
    """
    inputs, outputs = (
        tuple(
            str(Variable(c, i, f)) for c in schema.classes for i in range(counts[c]) for f in of(c)
        )
        for of in (schema.fields, schema.targets)
    )
    return inputs, outputs
