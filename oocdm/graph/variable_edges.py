"""All edges that graphs over some objects' variables may have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oocdm.graph.class_graph import AbstractEdgeSpace, ClassEdges, ClassGraph, Graph
from oocdm.graph.edges import VariableEdge
from oocdm.graph.variable_graph import VariableGraph
from oocdm.schema import Schema


@dataclass(frozen=True)
class VariableEdges(AbstractEdgeSpace):
    """The edges of variable graphs over some objects, source by source.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> VariableEdges(Schema(Ball), {"Ball": 2}).names[:2]
    ('Ball[0].x <- Ball[0].x', 'Ball[1].x <- Ball[0].x')
    """

    schema: Schema
    counts: Mapping[str, int]

    def __hash__(self) -> int:
        return hash((self.schema, *sorted(self.counts.items())))

    @cached_property
    def full(self) -> VariableGraph:
        """The graph with all edges."""
        return ClassGraph.full(self.schema).ground(self.counts)

    @cached_property
    def edges(self) -> tuple[VariableEdge, ...]:
        return tuple(self.full.edges())

    @property
    def targets(self) -> tuple[str, ...]:
        return self.full.outputs

    def graph(self, mask: np.ndarray) -> VariableGraph:
        return self.full.with_mask(mask)

    def matrix(self, values: np.ndarray) -> np.ndarray:
        """Values of all edges as a matrix, inputs by outputs."""
        return values.reshape(self.full.matrix.shape)

    def mask(self, graph: Graph) -> np.ndarray:
        if isinstance(graph, ClassGraph):
            return self.spread(ClassEdges.of(self.schema).mask(graph))
        return self.full.matching(graph).mask

    def spread(self, of_class_edges: np.ndarray) -> np.ndarray:
        return of_class_edges[self._class_edges]

    def num_pairs(self, counts: Mapping[str, int]) -> np.ndarray:
        return np.ones(len(self), dtype=int)

    @cached_property
    def _class_edges(self) -> np.ndarray:
        """The position of the class edge that stands for each edge."""
        return ClassEdges.of(self.schema).between(self.counts).ravel()
