"""Attributes of objects that a person names, and where they stand in a batch of worlds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError, SchemaError
from oocdm.schema import Schema

_FORM = re.compile(r"(?P<class>[^\s\[\].,]+)\[(?P<object>[0-9]+|\*)\]\.(?P<field>[^\s\[\].,]+)")


class Attribute(NamedTuple):
    """A field of one object, such as `Mouse[0].hunger`, or of all of a class, `Mouse[*].hunger`.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> ball = Attribute.parse("do", Schema(Ball), "Ball[1].x")
    >>> state = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(2, 3)}})
    >>> ball.places("do", state, worlds=[0]).int()
    tensor([[0, 1, 0],
            [0, 0, 0]], dtype=torch.int32)
    """

    class_name: str
    object: int | None
    field_name: str

    def __str__(self) -> str:
        index = "*" if self.object is None else self.object
        return f"{self.class_name}[{index}].{self.field_name}"

    @staticmethod
    def parse(where: str, schema: Schema, name: str) -> Attribute:
        """Read a name; `where` starts the message if it is wrong."""
        found = _FORM.fullmatch(name) if isinstance(name, str) else None
        if found is None:
            raise PlanError(
                f"{where}: expected an attribute such as `Ball[0].x`, or `Ball[*].x` for all "
                f"objects, got {name!r}."
            )
        index = None if found["object"] == "*" else int(found["object"])
        attribute = Attribute(found["class"], index, found["field"])
        try:
            field = schema.field(attribute.class_name, attribute.field_name)
        except SchemaError as error:
            raise PlanError(f"{where} `{name}`: {error}") from None
        if field.action:
            raise PlanError(
                f"{where} `{name}`: expected a state or static field, got an action. Choose it in "
                "step(action)."
            )
        return attribute

    def places(self, where: str, state: Snapshot, worlds: Sequence[int] | None) -> Tensor:
        """Which entries of (world, object) are meant; `worlds` are all if it is None."""
        present = state.present[self.class_name]
        rows = torch.zeros(len(present), dtype=torch.bool, device=present.device)
        rows[_checked_worlds(f"{where} `{self}`", worlds, len(present))] = True
        if self.object is None:
            return present & rows.unsqueeze(1)
        for world in rows.nonzero()[:, 0].tolist():
            num = int(present[world].sum())
            if self.object >= num:
                known = "none" if num == 0 else f"{self.class_name}[0] to [{num - 1}]"
                raise PlanError(
                    f"{where} `{self}`: expected one of the {num} objects of world {world} "
                    f"({known}), got number {self.object}. Objects are counted from 0."
                )
        places = torch.zeros_like(present)
        places[rows, self.object] = True
        return places


def _checked_worlds(where: str, worlds: Sequence[int] | None, num: int) -> list[int]:
    if worlds is None:
        return list(range(num))
    numbers = np.asarray(worlds)
    is_whole = numbers.ndim == 1 and np.issubdtype(numbers.dtype, np.integer)
    if not is_whole or numbers.size == 0 or not ((numbers >= 0) & (numbers < num)).all():
        raise PlanError(
            f"{where}: `worlds`: expected numbers of worlds from 0 to {num - 1}, got {worlds!r}."
        )
    return [int(number) for number in numbers]
