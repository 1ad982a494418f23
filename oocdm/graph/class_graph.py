"""Causal graphs at class level (OOCG), and all edges that they may have in a fixed order.

A space of edges makes graphs and a graph knows its space, so both stand here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any

import numpy as np

from oocdm.errors import GraphError
from oocdm.graph.edges import Edge, VariableEdge
from oocdm.graph.graph import AbstractGraph
from oocdm.graph.variable import Variable, variable_names
from oocdm.graph.variable_graph import VariableGraph
from oocdm.reading import CountOrZero, Probability, checked, known_name, read
from oocdm.schema import GivenSchema, Schema

GivenEdge = Annotated[Edge, 'Make some: Edge.parse_row("Ball.x <- self.v").']


class AbstractEdgeSpace(ABC):
    """The edges that a method chooses from; a graph is a boolean for each of them."""

    schema: Schema

    def __len__(self) -> int:
        return len(self.edges)

    def __deepcopy__(self, memo: object) -> AbstractEdgeSpace:
        return self  # nothing in it ever changes

    @property
    @abstractmethod
    def edges(self) -> tuple[Edge | VariableEdge, ...]:
        """Every edge, in the fixed order."""

    @property
    @abstractmethod
    def targets(self) -> tuple[str, ...]:
        """Everything that edges may end in, such as `Block.s2`."""

    @abstractmethod
    def graph(self, mask: np.ndarray) -> Graph:
        """The graph with these edges."""

    @abstractmethod
    def mask(self, graph: Graph) -> np.ndarray:
        """The edges of a graph, as a boolean for each possible one."""

    @abstractmethod
    def spread(self, of_class_edges: np.ndarray) -> np.ndarray:
        """A value for each edge from one for each class edge."""

    @abstractmethod
    def num_pairs(self, counts: Mapping[str, int]) -> np.ndarray:
        """For how many pairs of variables each edge stands, with so many objects."""

    def testable(
        self, max_counts: Mapping[str, int], constants: Collection[str] = ()
    ) -> np.ndarray:
        """Which edges data can tell of when a class never has more than `max_counts` objects.

        A global edge from a class to itself needs two objects of it; any edge needs one object
        at both ends. Nor can it be told what causes, or follows from, fields that are constant,
        such as "Block.s1".
        """
        edges = ClassEdges.of(self.schema).edges
        need = [2 if not e.is_local and e.source_class == e.target_class else 1 for e in edges]
        is_testable = [
            max_counts[e.source_class] >= n
            and max_counts[e.target_class] >= n
            and e.cause not in constants
            and e.target not in constants
            for e, n in zip(edges, need, strict=True)
        ]
        return self.spread(np.array(is_testable, dtype=bool))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every edge as it is printed, such as `Block.s2 <- self.s1`."""
        return tuple(map(str, self.edges))

    @cached_property
    def position(self) -> Mapping[Edge | VariableEdge, int]:
        """Where each edge stands."""
        return {edge: i for i, edge in enumerate(self.edges)}

    def into(self, target: str) -> np.ndarray:
        """The positions of all edges that end in a target."""
        return self._by_target[known_name(target, self.targets, "target", GraphError)]

    @cached_property
    def _by_target(self) -> Mapping[str, np.ndarray]:
        found: dict[str, list[int]] = {target: [] for target in self.targets}
        for i, edge in enumerate(self.edges):
            found[edge.target].append(i)
        return {target: np.array(places, dtype=int) for target, places in found.items()}


@dataclass(frozen=True)
class ClassEdges(AbstractEdgeSpace):
    """All possible class-level edges of a schema, for any numbers of objects.

    For each target class there is one local block (own fields by targets), then one global
    block for each source class (its fields by targets).

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> ClassEdges.of(Schema(Ball)).names
    ('Ball.x <- self.x', 'Ball.x <- Ball[*].x')
    """

    schema: Schema

    @staticmethod
    def of(schema: Schema) -> ClassEdges:
        """The edges of a schema, made once."""
        # Equal schemas may have other likelihoods, which models read in the schema of their edges,
        # and may predict less.
        return ClassEdges._of(schema, schema.likelihoods, schema.all_targets)

    @staticmethod
    @lru_cache(maxsize=64)
    def _of(schema: Schema, *differences: Hashable) -> ClassEdges:
        return ClassEdges(schema)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        schema = self.schema
        return tuple(
            Edge(k, u, c, v, is_local)
            for c, k, is_local in self._blocks
            for u in schema.fields(k)
            for v in schema.targets(c)
        )

    @cached_property
    def targets(self) -> tuple[str, ...]:
        return tuple(f"{c}.{v}" for c in self.schema.classes for v in self.schema.targets(c))

    def graph(self, mask: np.ndarray) -> ClassGraph:
        return ClassGraph(self.schema, mask)

    def mask(self, graph: Graph) -> np.ndarray:
        return ClassGraph.empty(self.schema).matching(graph).mask

    def spread(self, of_class_edges: np.ndarray) -> np.ndarray:
        return of_class_edges

    def num_pairs(self, counts: Mapping[str, int]) -> np.ndarray:
        return np.bincount(self.between(counts).ravel(), minlength=len(self))

    def local_block(self, values: Any, class_name: str) -> Any:
        """The local part of values for one class: (..., own fields, targets).

        Works on NumPy arrays and tensors alike, with any leading axes.
        """
        return self._block(values, (class_name, class_name, True))

    def global_block(self, values: Any, source_class: str, target_class: str) -> Any:
        """The global part of values for a pair of classes: (..., source's fields, targets)."""
        return self._block(values, (target_class, source_class, False))

    def between(self, counts: Mapping[str, int]) -> np.ndarray:
        """The position of the edge that stands for each pair of variables: (input, output).

        >>> from oocdm.schema import ObjectClass, Real
        >>> class Ball(ObjectClass):
        ...     x = Real()
        >>> ClassEdges.of(Schema(Ball)).between({"Ball": 2}).tolist()
        [[0, 1], [1, 0]]
        """
        classes, at = list(self.schema.classes), np.arange(len(self))
        read(Mapping[str, CountOrZero], counts, "`counts`", GraphError)
        if missing := [c for c in classes if c not in counts]:
            raise GraphError(
                f"`counts`: class `{missing[0]}` is missing. Say of every "
                "class how many objects it has."
            )
        rows = []
        for k in classes:
            blocks = []
            for c in classes:
                block = self.global_block(at, k, c)[None, :, None]
                block = np.tile(block, (counts[k], 1, counts[c], 1))
                if k == c:
                    objects = np.arange(counts[c])
                    block[objects, :, objects] = self.local_block(at, c)
                n, fields, m, targets = block.shape
                blocks.append(block.reshape(n * fields, m * targets))
            rows.append(np.concatenate(blocks, axis=1))
        return np.concatenate(rows)

    def _block(self, values: Any, key: tuple[str, str, bool]) -> Any:
        start, rows, columns = self._blocks[key]
        block = values[..., start : start + rows * columns]
        return block.reshape(*values.shape[:-1], rows, columns)

    @cached_property
    def _blocks(self) -> Mapping[tuple[str, str, bool], tuple[int, int, int]]:
        """Where a block begins and its shape, by target class, source class and whether local."""
        schema, start, blocks = self.schema, 0, {}
        for c in schema.classes:
            for k, is_local in [(c, True), *((k, False) for k in schema.classes)]:
                shape = len(schema.fields(k)), len(schema.targets(c))
                blocks[c, k, is_local] = (start, *shape)
                start += shape[0] * shape[1]
        return blocks


class ClassGraph(AbstractGraph[Edge]):
    """An object-oriented causal graph (OOCG): which fields of which classes cause which.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     v = Real()
    >>> graph = ClassGraph.parse(Schema(Ball), ["Ball.x <- self.x, self.v", "Ball.v <- Ball[*].x"])
    >>> print(graph)
    Ball.x <- self.x, self.v
    Ball.v <- Ball[*].x
    >>> graph.parents("Ball.x"), graph.children("Ball.x")
    (['self.x', 'self.v'], ['Ball.x', 'Ball.v'])
    """

    def __init__(self, schema: Schema, mask: np.ndarray) -> None:
        read(GivenSchema, schema, "ClassGraph: `schema`", GraphError)
        space = ClassEdges.of(schema)
        mask = np.array(mask, dtype=bool)
        if mask.shape != (len(space),):
            raise GraphError(
                f"ClassGraph: expected one boolean for each of the {len(space)} possible edges, "
                f"got shape {mask.shape}."
            )
        mask.setflags(write=False)
        self.schema = schema
        self.space = space
        self.mask = mask

    # ---------------------------------------------------------------- making

    @staticmethod
    @checked(GraphError)
    def full(schema: GivenSchema) -> ClassGraph:
        """All edges: G_1 of the paper."""
        return ClassGraph(schema, np.ones(len(ClassEdges.of(schema)), dtype=bool))

    @staticmethod
    @checked(GraphError)
    def empty(schema: GivenSchema) -> ClassGraph:
        """No edge."""
        return ClassGraph(schema, np.zeros(len(ClassEdges.of(schema)), dtype=bool))

    @staticmethod
    @checked(GraphError)
    def random(
        schema: GivenSchema,
        probability: Probability,
        rng: Annotated[np.random.Generator, "Make one: numpy.random.default_rng(seed)."],
    ) -> ClassGraph:
        """Every edge with the same probability: G_lambda of the paper."""
        return ClassGraph(schema, rng.random(len(ClassEdges.of(schema))) < probability)

    @staticmethod
    @checked(GraphError)
    def of_edges(schema: GivenSchema, edges: Iterable[GivenEdge]) -> ClassGraph:
        """The graph with exactly these edges."""
        graph = ClassGraph.empty(schema)
        mask = graph.mask.copy()
        for edge in edges:
            mask[graph._place(edge)] = True
        return graph.with_mask(mask)

    @staticmethod
    @checked(GraphError)
    def parse(schema: GivenSchema, rows: str | Iterable[str]) -> ClassGraph:
        """Read rows such as `Total.s1 <- self.s1, Block[*].s1`, or a text of them."""
        rows = rows.splitlines() if isinstance(rows, str) else rows
        return ClassGraph.of_edges(schema, [e for row in rows for e in Edge.parse_row(row)])

    @staticmethod
    @checked(GraphError)
    def covering(schema: GivenSchema, graph: GivenGraph) -> ClassGraph:
        """The smallest class graph whose grounding has all edges of a variable graph.

        A class graph is its own.

        >>> from oocdm.schema import ObjectClass, Real
        >>> class Ball(ObjectClass):
        ...     x = Real()
        >>> names = ["Ball[0].x", "Ball[1].x"]
        >>> some = VariableGraph.parse(names, names, ["Ball[1].x <- Ball[0].x"])
        >>> print(ClassGraph.covering(Schema(Ball), some))
        Ball.x <- Ball[*].x
        """
        if isinstance(graph, ClassGraph):
            return ClassGraph.empty(schema).matching(graph)
        known = {name: Variable.of(schema, name) for name in (*graph.inputs, *graph.outputs)}
        edges = {Edge.between(known[e.source], known[e.target]) for e in graph.edges()}
        return ClassGraph.of_edges(schema, edges)

    def without(self, edge: Edge) -> ClassGraph:
        """The graph less one edge."""
        mask = self.mask.copy()
        mask[self._place(edge)] = False
        return self.with_mask(mask)

    def with_edge(self, edge: Edge) -> ClassGraph:
        """The graph and one more edge."""
        return self | ClassGraph.of_edges(self.schema, [edge])

    def with_mask(self, mask: np.ndarray) -> ClassGraph:
        return ClassGraph(self.schema, mask)

    def matching(self, other: AbstractGraph[Any]) -> ClassGraph:
        if not isinstance(other, ClassGraph):
            is_graph = isinstance(other, VariableGraph)
            raise GraphError(
                "Expected a class graph, got "
                f"{'a variable graph' if is_graph else type(other).__name__}. "
                "`ClassGraph.covering` makes the smallest class graph that has all edges of a "
                "variable graph, `ground(counts)` makes variable graphs."
            )
        if self.schema != other.schema:
            raise GraphError(
                "The graph is for another schema. They differ in "
                f"{other.schema.difference(self.schema)}."
            )
        return other

    @checked(GraphError)
    def ground(self, counts: Mapping[str, int]) -> VariableGraph:
        for name in self.schema.classes:
            if counts.get(name, -1) < 0:
                raise GraphError(
                    f"ground: expected a number of objects for class `{name}`, got counts {counts}."
                )
        matrix = self.mask[self.space.between(counts)]
        return VariableGraph(*variable_names(self.schema, counts), matrix)

    # ---------------------------------------------------------------- asking

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(self.schema.classes)

    @property
    def causes(self) -> tuple[str, ...]:
        return tuple(f"{c}.{f}" for c in self.schema.classes for f in self.schema.fields(c))

    @property
    def targets(self) -> tuple[str, ...]:
        return self.space.targets

    def to_json(self) -> dict[str, Any]:
        return {"edges": [str(edge) for edge in self.edges()]}

    @staticmethod
    @checked(GraphError)
    def from_json(schema: GivenSchema, data: Mapping[str, Any]) -> ClassGraph:
        """Read back what `to_json` wrote."""
        rows = data.get("edges")
        if not isinstance(rows, list):
            raise GraphError('Graph: expected a JSON object with a list under the key "edges".')
        names = [str(row) for row in rows]
        return ClassGraph.parse(schema, names)._said_once(names)

    def _edge(self, place: int) -> Edge:
        return self.space.edges[place]

    def _place(self, edge: Edge) -> int:
        read(GivenEdge, edge, "Edge", GraphError)
        edge.check(self.schema)
        return self.space.position[edge]

    _parse_row = staticmethod(Edge.parse_row)

    def _into(self, target: str) -> np.ndarray:
        return self.space.into(target)

    def _identity(self) -> tuple[Any, ...]:
        return self.schema, self.mask.tobytes()


Graph = ClassGraph | VariableGraph
# A graph as functions are given it.
GivenGraph = Annotated[
    ClassGraph | VariableGraph, "Make one: ClassGraph.parse(schema, rows), or a fit's `graph`."
]
