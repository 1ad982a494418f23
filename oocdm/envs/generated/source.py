"""What a mechanism of a generated world reads, and how it is shown to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from oocdm.data.log import Arrays
from oocdm.worlds.world import WorldState


class Source(NamedTuple):
    """What a mechanism reads: a field of the object itself or of all other objects of a class.

    >>> print(Source("B", "x1", is_local=False))
    B[*].x1
    """

    class_name: str
    field_name: str
    is_local: bool

    def __str__(self) -> str:
        return f"{'self' if self.is_local else f'{self.class_name}[*]'}.{self.field_name}"


# What a mechanism is shown of each of its sources: values, and which of them count. Both are
# (world, object) of a local source and (world, object, other object) of a global one; values of
# vectors have one more axis.
Inputs = Mapping[Source, tuple[np.ndarray, np.ndarray]]


def join(state: WorldState, actions: Arrays) -> WorldState:
    """States and actions together.

    >>> state = WorldState({"A": {"x1": np.zeros((2, 1))}}, {"A": np.ones((2, 1), bool)})
    >>> list(join(state, {"A": {"a": np.ones((2, 1))}}).values["A"])
    ['x1', 'a']
    """
    values = {c: {**fields, **actions.get(c, {})} for c, fields in state.values.items()}
    return WorldState(values, state.present)


def read(state: WorldState, source: Source, target_class: str) -> tuple[np.ndarray, np.ndarray]:
    """What a source shows to the objects of a class, and which of it counts.

    >>> state = WorldState({"A": {"x1": np.array([[1.0, 2.0]])}}, {"A": np.ones((1, 2), bool)})
    >>> read(state, Source("A", "x1", is_local=False), "A")[1].tolist()
    [[[False, True], [True, False]]]
    """
    values = state.values[source.class_name][source.field_name]
    present = state.present[source.class_name]
    if source.is_local:
        return values, present
    is_other = np.ones((state.present[target_class].shape[1], present.shape[1]), dtype=bool)
    if source.class_name == target_class:
        np.fill_diagonal(is_other, False)
    counts = present[:, None] & is_other
    return np.broadcast_to(values[:, None], (*counts.shape, *values.shape[2:])), counts


def of_others(source: Source) -> Source:
    """The same field, of other objects.

    >>> print(of_others(Source("A", "x1", is_local=True)))
    A[*].x1
    """
    return source._replace(is_local=False)
