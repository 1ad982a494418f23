"""All edges that a graph may have, in a fixed order: between classes, or between variables."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oocdm.errors import GraphError
from oocdm.graph.class_graph import ClassGraph, class_edges_between
from oocdm.graph.edges import EdgeIndex
from oocdm.graph.variable_graph import VariableGraph
from oocdm.schema import Schema

Graph = ClassGraph | VariableGraph
_OF_VARIABLE = re.compile(r"\s*\w+\[\d+\]\.")  # a row such as `Ball[0].x <- Ball[1].x`


class AbstractEdgeSpace(ABC):
    """The edges that a method chooses from; a graph is a boolean for each of them."""

    schema: Schema

    def __len__(self) -> int:
        return len(self.names)

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Every edge as it is printed, such as `Block.s2 <- self.s1`."""

    @property
    @abstractmethod
    def targets(self) -> tuple[str, ...]:
        """Everything that edges may end in, such as `Block.s2`."""

    @abstractmethod
    def into(self, target: str) -> np.ndarray:
        """The places of all edges that end in a target."""

    @abstractmethod
    def graph(self, mask: np.ndarray) -> Graph:
        """The graph with these edges."""

    @abstractmethod
    def mask(self, graph: Graph) -> np.ndarray:
        """The edges of a graph, as a boolean for each possible one."""

    @abstractmethod
    def spread(self, of_class_edges: np.ndarray) -> np.ndarray:
        """A value for each edge from one for each class edge."""


@dataclass(frozen=True)
class ClassEdges(AbstractEdgeSpace):
    """The edges of class graphs, for any numbers of objects.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> ClassEdges(Schema(Ball)).names
    ('Ball.x <- self.x', 'Ball.x <- Ball[*].x')
    """

    schema: Schema

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(str(edge) for edge in EdgeIndex.of(self.schema).edges)

    @cached_property
    def targets(self) -> tuple[str, ...]:
        return tuple(f"{c}.{v}" for c in self.schema.classes for v in self.schema.targets(c))

    def into(self, target: str) -> np.ndarray:
        return EdgeIndex.of(self.schema).of_target(*self.schema.split(target))

    def graph(self, mask: np.ndarray) -> ClassGraph:
        return ClassGraph(self.schema, mask)

    def mask(self, graph: Graph) -> np.ndarray:
        if not isinstance(graph, ClassGraph):
            raise GraphError(
                "Expected a class graph, got a variable graph. `ClassGraph.covering` makes the "
                "smallest class graph that has all of its edges."
            )
        _check_schema(graph, self.schema)
        return graph.mask

    def spread(self, of_class_edges: np.ndarray) -> np.ndarray:
        return of_class_edges


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

    @cached_property
    def full(self) -> VariableGraph:
        """The graph with all edges."""
        return ClassGraph.full(self.schema).ground(self.counts)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{v} <- {u}" for u in self.full.inputs for v in self.full.outputs)

    @property
    def targets(self) -> tuple[str, ...]:
        return self.full.outputs

    def into(self, target: str) -> np.ndarray:
        return self.matrix(np.arange(len(self)))[:, self.full.outputs.index(target)]

    def graph(self, mask: np.ndarray) -> VariableGraph:
        return VariableGraph(self.full.inputs, self.full.outputs, self.matrix(mask))

    def matrix(self, values: np.ndarray) -> np.ndarray:
        """Values of all edges as a matrix, inputs by outputs."""
        return values.reshape(self.full.matrix.shape)

    def mask(self, graph: Graph) -> np.ndarray:
        if isinstance(graph, ClassGraph):
            _check_schema(graph, self.schema)
            return self.spread(graph.mask)
        graph.check_same_variables(self.full, "Expected and got")
        return graph.matrix.ravel()

    def spread(self, of_class_edges: np.ndarray) -> np.ndarray:
        return of_class_edges[self._class_edges]

    @cached_property
    def _class_edges(self) -> np.ndarray:
        """The position of the class edge that stands for each edge."""
        return class_edges_between(self.schema, self.counts).ravel()


def graph_from_json(schema: Schema, data: Mapping[str, Any]) -> Graph:
    """Read back what `to_json` of either kind of graph wrote."""
    if "inputs" in data:
        return VariableGraph.from_json(data)
    return ClassGraph.from_json(schema, data)


def graph_from_rows(schema: Schema, rows: Sequence[str], counts: Mapping[str, int]) -> Graph:
    """Read rows as a graph prints them; `counts` are the objects that variables may be of.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> graph_from_rows(Schema(Ball), ["Ball.x <- self.x"], {"Ball": 2})
    ClassGraph(1 of 2 edges)
    >>> graph_from_rows(Schema(Ball), ["Ball[0].x <- Ball[1].x"], {"Ball": 2})
    VariableGraph(1 of 4 edges)
    """
    if rows and _OF_VARIABLE.match(rows[0]):
        full = VariableEdges(schema, counts).full
        return VariableGraph.parse(full.inputs, full.outputs, rows)
    return ClassGraph.parse(schema, rows)


def _check_schema(graph: ClassGraph, schema: Schema) -> None:
    if graph.schema != schema:
        raise GraphError(
            f"The graph is for another schema. They differ in {graph.schema.difference(schema)}."
        )
