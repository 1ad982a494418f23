"""A causal graph over single variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from oocdm.errors import GraphError
from oocdm.graph.edges import VariableEdge
from oocdm.graph.graph import AbstractGraph
from oocdm.graph.variable import Variable
from oocdm.reading import checked, known_name
from oocdm.schema import GivenSchema


class VariableGraph(AbstractGraph[VariableEdge]):
    """A causal graph over single variables, such as `Block[0].s1` to `Total[0].s1`.

    `ClassGraph.ground` makes one whose objects are all alike; here they may differ. `matrix` has
    the same booleans as `mask`, inputs by outputs.

    >>> names = ("Ball[0].x", "Ball[1].x")
    >>> graph = VariableGraph(names, names, np.array([[True, True], [False, True]]))
    >>> print(graph)
    Ball[0].x <- Ball[0].x
    Ball[1].x <- Ball[0].x, Ball[1].x
    >>> graph.children("Ball[1].x")
    ['Ball[1].x']
    """

    @checked(GraphError)
    def __init__(
        self, inputs: Iterable[str], outputs: Iterable[str], matrix: np.ndarray | list[Any]
    ) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        _check_names("inputs", self.inputs)
        _check_names("outputs", self.outputs)
        matrix = np.array(matrix, dtype=bool)
        expected = (len(self.inputs), len(self.outputs))
        if matrix.shape != expected:
            raise GraphError(
                f"VariableGraph.matrix: expected shape {expected}, inputs by outputs, "
                f"got {matrix.shape}."
            )
        matrix.setflags(write=False)
        self.matrix = matrix
        self.mask = matrix.ravel()

    @staticmethod
    @checked(GraphError)
    def parse(
        inputs: Iterable[str], outputs: Iterable[str], rows: str | Iterable[str]
    ) -> VariableGraph:
        """Read rows such as `Ball[1].x <- Ball[0].x, Ball[1].x`.

        >>> VariableGraph.parse(["Ball[0].x"], ["Ball[0].x"], ["Ball[0].x <- (nothing)"])
        VariableGraph(0 of 1 edges)
        """
        rows = rows.splitlines() if isinstance(rows, str) else rows
        names = tuple(inputs), tuple(outputs)
        graph = VariableGraph(*names, np.zeros([len(each) for each in names]))
        mask = graph.mask.copy()
        for row in rows:
            for edge in VariableEdge.parse_row(row):
                mask[graph._place(edge)] = True
        return graph.with_mask(mask)

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(self.counts)

    @property
    def causes(self) -> tuple[str, ...]:
        return self.inputs

    @property
    def targets(self) -> tuple[str, ...]:
        return self.outputs

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Number of objects of each class that has any."""
        counts: dict[str, int] = {}
        for name in self.inputs:
            c, i, _ = Variable.parse(name)
            counts[c] = max(counts.get(c, 0), i + 1)
        return counts

    def with_mask(self, mask: np.ndarray) -> VariableGraph:
        return VariableGraph(self.inputs, self.outputs, mask.reshape(self.matrix.shape))

    def matching(self, other: AbstractGraph[Any]) -> VariableGraph:
        if not isinstance(other, AbstractGraph):
            raise GraphError(
                "Expected a graph between variables or between classes, got "
                f"{type(other).__name__}."
            )
        if not isinstance(other, VariableGraph):
            # Classes without any object have no variables, but a class graph asks for all.
            grounded = other.ground({c: self.counts.get(c, 0) for c in other.classes})
            assert isinstance(grounded, VariableGraph)
            other = grounded
        if (self.inputs, self.outputs) != (other.inputs, other.outputs):
            ours, theirs = ({*graph.inputs, *graph.outputs} for graph in (self, other))
            single = sorted(ours ^ theirs)
            how = f"only one has `{single[0]}`" if single else "they order or use them otherwise"
            raise GraphError(f"Expected and got variable graphs over different variables: {how}.")
        return other

    def ground(self, counts: Mapping[str, int]) -> VariableGraph:
        """The graph itself, which must have these numbers of objects."""
        if {c: n for c, n in counts.items() if n} != self.counts:
            raise GraphError(
                f"ground: expected the graph's own numbers of objects, {self.counts}, got {counts}."
            )
        return self

    def to_json(self) -> dict[str, Any]:
        edges = [str(edge) for target in self.targets for edge in self.edges(target)]
        return {"inputs": list(self.inputs), "outputs": list(self.outputs), "edges": edges}

    @staticmethod
    @checked(GraphError)
    def from_json(schema: GivenSchema, data: Mapping[str, Any]) -> VariableGraph:
        """Read back what `to_json` wrote; all variables must be of the schema."""
        lists = [data.get(key) for key in ("inputs", "outputs", "edges")]
        if not all(isinstance(each, list) for each in lists):
            raise GraphError(
                "Variable graph: expected a JSON object with lists under the keys "
                '"inputs", "outputs" and "edges".'
            )
        graph = VariableGraph.parse(*([str(name) for name in each or ()] for each in lists))
        for name in (*graph.inputs, *graph.outputs):
            Variable.of(schema, name)
        return graph._said_once([str(row) for row in data["edges"]])

    def _edge(self, place: int) -> VariableEdge:
        row, column = divmod(place, len(self.outputs))
        return VariableEdge(self.inputs[row], self.outputs[column])

    def _place(self, edge: VariableEdge) -> int:
        row = self._rows[known_name(edge.source, self._rows, "variable", GraphError)]
        column = self._columns[known_name(edge.target, self._columns, "variable", GraphError)]
        return row * len(self.outputs) + column

    _parse_row = staticmethod(VariableEdge.parse_row)

    def _into(self, target: str) -> np.ndarray:
        return np.arange(len(self.inputs)) * len(self.outputs) + self._columns[target]

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.inputs)}

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.outputs)}

    def _identity(self) -> tuple[Any, ...]:
        return self.inputs, self.outputs, self.mask.tobytes()


def _check_names(where: str, names: tuple[str, ...]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise GraphError(f"VariableGraph.{where}: expected different variables, got {twice} twice.")
    for name in names:
        Variable.parse(name)
