"""Causal graphs at class level (OOCG): which fields of which classes cause which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from oocdm.errors import GraphError, SchemaError
from oocdm.graph.edges import Edge, EdgeIndex
from oocdm.graph.variable_graph import GraphComparison, Variable, VariableGraph, compare_masks
from oocdm.schema import Schema

if TYPE_CHECKING:
    import networkx


class ClassGraph:
    """An object-oriented causal graph (OOCG): which fields of which classes cause which.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     v = Real()
    >>> graph = ClassGraph.parse(Schema(Ball), ["Ball.x <- self.x, self.v", "Ball.v <- Ball[*].x"])
    >>> print(graph)
    Ball.x <- self.x, self.v
    Ball.v <- Ball[*].x
    """

    def __init__(self, schema: Schema, mask: np.ndarray) -> None:
        index = EdgeIndex.of(schema)
        mask = np.array(mask, dtype=bool)
        if mask.shape != (len(index),):
            raise GraphError(
                f"ClassGraph: expected one boolean for each of the {len(index)} possible edges, "
                f"got shape {mask.shape}."
            )
        mask.setflags(write=False)
        self.schema = schema
        self.index = index
        self.mask = mask

    # ---------------------------------------------------------------- making

    @staticmethod
    def full(schema: Schema) -> ClassGraph:
        """All edges: G_1 of the paper."""
        return ClassGraph(schema, np.ones(len(EdgeIndex.of(schema)), dtype=bool))

    @staticmethod
    def empty(schema: Schema) -> ClassGraph:
        """No edge."""
        return ClassGraph(schema, np.zeros(len(EdgeIndex.of(schema)), dtype=bool))

    @staticmethod
    def random(schema: Schema, probability: float, rng: np.random.Generator) -> ClassGraph:
        """Every edge with the same probability: G_lambda of the paper."""
        return ClassGraph(schema, rng.random(len(EdgeIndex.of(schema))) < probability)

    @staticmethod
    def of_edges(schema: Schema, edges: Iterable[Edge]) -> ClassGraph:
        """The graph with exactly these edges."""
        index = EdgeIndex.of(schema)
        mask = np.zeros(len(index), dtype=bool)
        for edge in edges:
            _check_edge(schema, edge)
            mask[index.position[edge]] = True
        return ClassGraph(schema, mask)

    @staticmethod
    def parse(schema: Schema, rows: Iterable[str]) -> ClassGraph:
        """Read rows such as `Total.s1 <- self.s1, Block[*].s1`."""
        return ClassGraph.of_edges(schema, [e for row in rows for e in _parse_row(row)])

    @staticmethod
    def covering(schema: Schema, graph: VariableGraph) -> ClassGraph:
        """The smallest class graph whose grounding has all edges of a variable graph.

        >>> from oocdm.schema import ObjectClass, Real
        >>> class Ball(ObjectClass):
        ...     x = Real()
        >>> some = VariableGraph.from_json({"inputs": ["Ball[0].x", "Ball[1].x"],
        ...     "outputs": ["Ball[0].x", "Ball[1].x"], "edges": ["Ball[1].x <- Ball[0].x"]})
        >>> print(ClassGraph.covering(Schema(Ball), some))
        Ball.x <- Ball[*].x
        """
        inputs, outputs = (
            [_known_variable(schema, name) for name in names]
            for names in (graph.inputs, graph.outputs)
        )
        pairs = [(inputs[row], outputs[column]) for row, column in np.argwhere(graph.matrix)]
        return ClassGraph.of_edges(schema, {_edge_between(*pair) for pair in pairs})

    def without(self, edge: Edge) -> ClassGraph:
        """The graph less one edge."""
        _check_edge(self.schema, edge)
        mask = self.mask.copy()
        mask[self.index.position[edge]] = False
        return ClassGraph(self.schema, mask)

    def with_edge(self, edge: Edge) -> ClassGraph:
        """The graph and one more edge."""
        return ClassGraph.of_edges(self.schema, [*self.edges(), edge])

    # ---------------------------------------------------------------- asking

    def edges(self) -> list[Edge]:
        """The edges of the graph, in the fixed order."""
        return [edge for edge, is_in in zip(self.index.edges, self.mask, strict=True) if is_in]

    def __contains__(self, edge: Edge) -> bool:
        _check_edge(self.schema, edge)
        return bool(self.mask[self.index.position[edge]])

    def parents(self, class_name: str, field_name: str) -> list[Edge]:
        """The edges into one target field, local ones first."""
        return [
            self.index.edges[i]
            for i in self.index.of_target(class_name, field_name)
            if self.mask[i]
        ]

    def local(self, class_name: str) -> np.ndarray:
        """Local edges of a class: (own fields, targets)."""
        return self.index.local_block(self.mask, class_name)

    def global_(self, source_class: str, target_class: str) -> np.ndarray:
        """Global edges between two classes: (source's fields, targets)."""
        return self.index.global_block(self.mask, source_class, target_class)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ClassGraph)
            and self.schema == other.schema
            and bool(np.array_equal(self.mask, other.mask))
        )

    def __hash__(self) -> int:
        return hash((self.schema, self.mask.tobytes()))

    def __str__(self) -> str:
        rows = []
        for class_name in self.schema.classes:
            for field_name in self.schema.targets(class_name):
                sources = [edge.source for edge in self.parents(class_name, field_name)]
                rows.append(f"{class_name}.{field_name} <- {', '.join(sources) or '(nothing)'}")
        return "\n".join(rows)

    def __repr__(self) -> str:
        return f"ClassGraph({int(self.mask.sum())} of {self.mask.size} edges)"

    # ---------------------------------------------------------------- comparing

    def compare(
        self,
        true: ClassGraph,
        counts: Mapping[str, int] | None = None,
        testable: np.ndarray | None = None,
    ) -> GraphComparison:
        """Compare with the true graph: class edges, or with `counts` the grounded variables.

        The paper's graph accuracy is `graph.compare(true, counts).accuracy`. With `testable` (see
        `EdgeIndex.testable`) class edges that cannot occur are left out.
        """
        if not isinstance(true, ClassGraph):
            raise GraphError(
                f"compare: expected a graph between classes, got {type(true).__name__}. Compare "
                "graphs between variables: graph.ground(counts).compare(other)."
            )
        if self.schema != true.schema:
            raise GraphError(
                "Cannot compare graphs of different schemas: "
                f"{self.schema.difference(true.schema)}."
            )
        if counts is not None:
            return compare_masks(self.ground(counts).matrix, true.ground(counts).matrix)
        if testable is not None:
            return compare_masks(self.mask[testable], true.mask[testable])
        return compare_masks(self.mask, true.mask)

    def ground(self, counts: Mapping[str, int]) -> VariableGraph:
        """The graph over single variables for given numbers of objects."""
        for name in self.schema.classes:
            if counts.get(name, -1) < 0:
                raise GraphError(
                    f"ground: expected a number of objects for class `{name}`, got counts {counts}."
                )
        inputs = _variables(self.schema, counts, targets_only=False)
        outputs = _variables(self.schema, counts, targets_only=True)
        matrix = self.mask[class_edges_between(self.schema, counts)]
        return VariableGraph(tuple(map(str, inputs)), tuple(map(str, outputs)), matrix)

    # ---------------------------------------------------------------- exporting

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready list of edges that `from_json` reads back."""
        return {"edges": [str(edge) for edge in self.edges()]}

    @staticmethod
    def from_json(schema: Schema, data: Mapping[str, Any]) -> ClassGraph:
        """Read back what `to_json` wrote."""
        rows = data.get("edges")
        if not isinstance(rows, list):
            raise GraphError('Graph: expected a JSON object with a list under the key "edges".')
        return ClassGraph.parse(schema, [str(row) for row in rows])

    def to_networkx(self) -> networkx.DiGraph[str]:
        """A directed graph from sources such as `Block[*].s1` to targets such as `Total.s1'`."""
        import networkx

        graph: networkx.DiGraph[str] = networkx.DiGraph()
        for source, target, edge in self._arrows():
            graph.add_edge(source, target, kind="local" if edge.is_local else "global")
        return graph

    def to_dot(self) -> str:
        """Graphviz text; global edges are dashed."""
        rows = [
            f'  "{source}" -> "{target}"{"" if edge.is_local else " [style=dashed]"};'
            for source, target, edge in self._arrows()
        ]
        return "\n".join(["digraph causes {", "  rankdir=LR;", *rows, "}"])

    def to_mermaid(self) -> str:
        """Mermaid text; global edges are dotted."""
        names: dict[str, str] = {}
        rows = []
        for source, target, edge in self._arrows():
            a, b = (names.setdefault(n, f"n{len(names)}") for n in (source, target))
            arrow = "-->" if edge.is_local else "-.->"
            rows.append(f'  {a}["{source}"] {arrow} {b}["{target}"]')
        return "\n".join(["graph LR", *rows])

    def _arrows(self) -> Iterator[tuple[str, str, Edge]]:
        for edge in self.edges():
            owner = edge.source_class if edge.is_local else f"{edge.source_class}[*]"
            yield f"{owner}.{edge.source_field}", f"{edge.target}'", edge


def _variables(schema: Schema, counts: Mapping[str, int], targets_only: bool) -> list[Variable]:
    return [
        Variable(name, i, field)
        for name in schema.classes
        for i in range(counts[name])
        for field in (schema.targets(name) if targets_only else schema.fields(name))
    ]


def class_edges_between(schema: Schema, counts: Mapping[str, int]) -> np.ndarray:
    """The position of the class edge that stands for each pair of variables: (input, output).

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> class_edges_between(Schema(Ball), {"Ball": 2}).tolist()
    [[0, 1], [1, 0]]
    """
    position = EdgeIndex.of(schema).position
    inputs = _variables(schema, counts, targets_only=False)
    outputs = _variables(schema, counts, targets_only=True)
    pairs = [position[_edge_between(source, target)] for source in inputs for target in outputs]
    return np.array(pairs, dtype=int).reshape(len(inputs), len(outputs))


def _edge_between(source: Variable, target: Variable) -> Edge:
    """The class edge that stands for an edge between two variables."""
    is_local = source[:2] == target[:2]
    return Edge(
        source.class_name, source.field_name, target.class_name, target.field_name, is_local
    )


def _known_variable(schema: Schema, name: str) -> Variable:
    variable = Variable.parse(name)
    try:
        schema.field(variable.class_name, variable.field_name)
    except SchemaError as error:
        raise GraphError(f"Variable `{name}` is not of this schema. {error}") from None
    return variable


def _check_edge(schema: Schema, edge: Edge) -> None:
    schema.field(edge.source_class, edge.source_field)
    target = schema.field(edge.target_class, edge.target_field)
    if not target.is_target:
        raise GraphError(
            f"Edge `{edge}`: `{edge.target}` is a field with the role {target.role}; "
            "only state fields have causes."
        )
    if edge.is_local and edge.source_class != edge.target_class:
        raise GraphError(f"Edge `{edge}`: a local edge starts in the target's own class.")


def _parse_row(row: str) -> list[Edge]:
    target, arrow, sources = row.partition("<-")
    target_class, dot, target_field = target.strip().partition(".")
    if not arrow or not dot:
        raise GraphError(
            f"Graph row {row!r}: expected the form `Total.s1 <- self.s1, Block[*].s1`."
        )
    edges = []
    for source in (s.strip() for s in sources.split(",")):
        if source in ("", "(nothing)"):
            continue
        owner, dot, field = source.partition(".")
        is_local = owner == "self"
        if not dot or not (is_local or owner.endswith("[*]")):
            raise GraphError(
                f"Graph row {row!r}: expected `self.field` or `Class[*].field`, got `{source}`."
            )
        source_class = target_class if is_local else owner.removesuffix("[*]")
        edges.append(Edge(source_class, field, target_class, target_field, is_local))
    return edges
