"""One class-level edge, and all possible ones of a schema in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from oocdm.schema import Schema


@dataclass(frozen=True)
class Edge:
    """One class-level causality: local (within an object) or global (from other objects).

    >>> str(Edge("Block", "s1", "Block", "s2", is_local=True))
    'Block.s2 <- self.s1'
    >>> str(Edge("Block", "s1", "Total", "s1", is_local=False))
    'Total.s1 <- Block[*].s1'
    """

    source_class: str
    source_field: str
    target_class: str
    target_field: str
    is_local: bool

    @property
    def source(self) -> str:
        """The source as it is printed: `self.s1` or `Block[*].s1`."""
        owner = "self" if self.is_local else f"{self.source_class}[*]"
        return f"{owner}.{self.source_field}"

    @property
    def target(self) -> str:
        """The target as it is printed: `Block.s2`."""
        return f"{self.target_class}.{self.target_field}"

    def __str__(self) -> str:
        return f"{self.target} <- {self.source}"


class EdgeIndex:
    """All possible class-level edges of a schema, in a fixed order.

    For each target class there is one local block (own fields by targets), then one global
    block for each source class (its fields by targets).

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> [str(edge) for edge in EdgeIndex.of(Schema(Ball)).edges]
    ['Ball.x <- self.x', 'Ball.x <- Ball[*].x']
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        edges: list[Edge] = []
        self._local: dict[str, tuple[int, int, int]] = {}
        self._global: dict[tuple[str, str], tuple[int, int, int]] = {}
        for target_class in schema.classes:
            targets = schema.targets(target_class)
            sources: list[tuple[str, bool]] = [(target_class, True)]
            sources += [(name, False) for name in schema.classes]
            for source_class, is_local in sources:
                fields = schema.fields(source_class)
                block = (len(edges), len(fields), len(targets))
                if is_local:
                    self._local[target_class] = block
                else:
                    self._global[source_class, target_class] = block
                edges += [
                    Edge(source_class, u, target_class, v, is_local)
                    for u in fields
                    for v in targets
                ]
        self.edges: tuple[Edge, ...] = tuple(edges)
        self.position: Mapping[Edge, int] = {edge: i for i, edge in enumerate(edges)}

    @staticmethod
    @lru_cache(maxsize=64)
    def of(schema: Schema) -> EdgeIndex:
        """The index of a schema, made once."""
        return EdgeIndex(schema)

    def __len__(self) -> int:
        return len(self.edges)

    def __deepcopy__(self, memo: object) -> EdgeIndex:
        return self  # nothing in it ever changes

    def local_block(self, mask: Any, class_name: str) -> Any:
        """The local part of a mask for one class: (..., own fields, targets).

        Works on NumPy arrays and tensors alike, with any leading axes.
        """
        start, rows, columns = self._local[class_name]
        return mask[..., start : start + rows * columns].reshape(*mask.shape[:-1], rows, columns)

    def global_block(self, mask: Any, source_class: str, target_class: str) -> Any:
        """The global part of a mask for a pair of classes: (..., source's fields, targets)."""
        start, rows, columns = self._global[source_class, target_class]
        return mask[..., start : start + rows * columns].reshape(*mask.shape[:-1], rows, columns)

    def of_target(self, class_name: str, field_name: str) -> np.ndarray:
        """Positions of all edges that end in one target field."""
        self.schema.field(class_name, field_name)
        wanted = (class_name, field_name)
        return np.array(
            [i for i, e in enumerate(self.edges) if (e.target_class, e.target_field) == wanted]
        )

    def testable(self, max_counts: Mapping[str, int]) -> np.ndarray:
        """Which edges can occur at all when a class never has more than `max_counts` objects.

        A global edge from a class to itself needs two objects of it; any edge needs one object
        at both ends.
        """
        need = [2 if not e.is_local and e.source_class == e.target_class else 1 for e in self.edges]
        return np.array(
            [
                max_counts[e.source_class] >= n and max_counts[e.target_class] >= n
                for e, n in zip(self.edges, need, strict=True)
            ]
        )
