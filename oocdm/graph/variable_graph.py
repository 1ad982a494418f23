"""A causal graph over single variables, and how two graphs differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from oocdm.errors import GraphError, suggest
from oocdm.schema import Schema


@dataclass(frozen=True)
class GraphComparison:
    """How a graph differs from the true one.

    >>> GraphComparison(missing=1, extra=0, true_edges=4, possible=16).accuracy
    0.9375
    """

    missing: int
    extra: int
    true_edges: int
    possible: int

    @property
    def shd(self) -> int:
        """Structural Hamming distance: wrong edges."""
        return self.missing + self.extra

    @property
    def accuracy(self) -> float:
        """1 - SHD / number of possible edges."""
        return 1.0 - self.shd / self.possible if self.possible else 1.0

    @property
    def precision(self) -> float:
        """Share of the found edges that are true (1 if none was found)."""
        found = self.true_edges - self.missing + self.extra
        return (self.true_edges - self.missing) / found if found else 1.0

    @property
    def recall(self) -> float:
        """Share of the true edges that were found (1 if there is none)."""
        return (self.true_edges - self.missing) / self.true_edges if self.true_edges else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def compare_masks(found: np.ndarray, true: np.ndarray) -> GraphComparison:
    """Compare two sets of edges, given as booleans of equal shape."""
    return GraphComparison(
        missing=int((true & ~found).sum()),
        extra=int((found & ~true).sum()),
        true_edges=int(true.sum()),
        possible=int(true.size),
    )


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
        found = _VARIABLE.fullmatch(name)
        if found is None:
            raise GraphError(f"Variable `{name}`: expected the form `Block[0].s1`.")
        return Variable(found["class"], int(found["object"]), found["field"])


class _Groundable(Protocol):
    """A class graph, as far as this file may know of it: class graphs build on variable graphs."""

    schema: Schema

    def ground(self, counts: Mapping[str, int]) -> VariableGraph: ...


_VARIABLE = re.compile(r"(?P<class>[^\s\[\].,]+)\[(?P<object>[0-9]+)\]\.(?P<field>[^\s\[\].,]+)")


@dataclass(frozen=True, eq=False)
class VariableGraph:
    """A causal graph over single variables, such as `Block[0].s1` to `Total[0].s1`.

    `ClassGraph.ground` makes one whose objects are all alike; here they may differ.

    >>> names = ("Ball[0].x", "Ball[1].x")
    >>> print(VariableGraph(names, names, np.array([[True, True], [False, True]])))
    Ball[0].x <- Ball[0].x
    Ball[1].x <- Ball[0].x, Ball[1].x
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    matrix: np.ndarray  # (inputs, outputs)

    def __post_init__(self) -> None:
        for name in ("inputs", "outputs"):
            names = tuple(getattr(self, name))
            twice = next((each for i, each in enumerate(names) if each in names[:i]), None)
            if twice is not None:
                raise GraphError(
                    f"VariableGraph.{name}: expected different variables, got {twice} twice."
                )
            for each in names:
                Variable.parse(each)
            object.__setattr__(self, name, names)
        matrix = np.array(self.matrix, dtype=bool)
        expected = (len(self.inputs), len(self.outputs))
        if matrix.shape != expected:
            raise GraphError(
                f"VariableGraph.matrix: expected shape {expected}, inputs by outputs, "
                f"got {matrix.shape}."
            )
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)

    @staticmethod
    def parse(inputs: Iterable[str], outputs: Iterable[str], rows: Iterable[str]) -> VariableGraph:
        """Read rows such as `Ball[1].x <- Ball[0].x, Ball[1].x`.

        >>> grounded = VariableGraph(("Ball[0].x",), ("Ball[0].x",), np.array([[True]]))
        >>> VariableGraph.parse(grounded.inputs, grounded.outputs, ["Ball[0].x <- (nothing)"])
        VariableGraph(0 of 1 edges)
        """
        names = tuple(inputs), tuple(outputs)
        at = [{name: i for i, name in enumerate(each)} for each in names]
        matrix = np.zeros((len(names[0]), len(names[1])), dtype=bool)
        for row in rows:
            output, sources = _parse_row(row)
            column = _position(output, at[1])
            for source in sources:
                matrix[_position(source, at[0]), column] = True
        return VariableGraph(*names, matrix)

    @property
    def counts(self) -> dict[str, int]:
        """Number of objects of each class that has any."""
        counts: dict[str, int] = {}
        for name in self.inputs:
            variable = Variable.parse(name)
            counts[variable.class_name] = max(
                counts.get(variable.class_name, 0), variable.object + 1
            )
        return counts

    def edges(self) -> list[tuple[str, str]]:
        """Source and target of each edge, by targets."""
        return [
            (self.inputs[row], self.outputs[column]) for column, row in np.argwhere(self.matrix.T)
        ]

    def parents(self, output: str) -> list[str]:
        """Names of the variables that cause one output."""
        at = {each: i for i, each in enumerate(self.outputs)}
        column = self.matrix[:, _position(output, at)]
        return [name for name, is_in in zip(self.inputs, column, strict=True) if is_in]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, VariableGraph)
            and (self.inputs, self.outputs) == (other.inputs, other.outputs)
            and bool(np.array_equal(self.matrix, other.matrix))
        )

    def __hash__(self) -> int:
        return hash((self.inputs, self.outputs, self.matrix.tobytes()))

    def __str__(self) -> str:
        return "\n".join(
            f"{name} <- {', '.join(self.parents(name)) or '(nothing)'}" for name in self.outputs
        )

    def __repr__(self) -> str:
        return f"VariableGraph({int(self.matrix.sum())} of {self.matrix.size} edges)"

    def check_same_variables(self, other: VariableGraph, what: str) -> None:
        """Raise a `GraphError` unless another graph is over the same variables."""
        if (self.inputs, self.outputs) != (other.inputs, other.outputs):
            ours, theirs = ({*graph.inputs, *graph.outputs} for graph in (self, other))
            single = sorted(ours ^ theirs)
            how = f"only one has `{single[0]}`" if single else "they order or use them otherwise"
            raise GraphError(f"{what} variable graphs over different variables: {how}.")

    def compare(self, true: VariableGraph | _Groundable) -> GraphComparison:
        """Compare with the true graph over the same variables, or between their classes."""
        if not isinstance(true, VariableGraph):
            if not hasattr(true, "ground"):
                raise GraphError(
                    "compare: expected a graph between variables or between classes, got "
                    f"{type(true).__name__}."
                )
            # Classes without any object have no variables, but a class graph asks for all.
            true = true.ground(dict.fromkeys(true.schema.classes, 0) | self.counts)
        self.check_same_variables(true, "Cannot compare")
        return compare_masks(self.matrix, true.matrix)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready list of variables and edges that `from_json` reads back."""
        return {
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "edges": [f"{target} <- {source}" for source, target in self.edges()],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> VariableGraph:
        """Read back what `to_json` wrote."""
        lists = [data.get(key) for key in ("inputs", "outputs", "edges")]
        if not all(isinstance(each, list) for each in lists):
            raise GraphError(
                "Variable graph: expected a JSON object with lists under the keys "
                '"inputs", "outputs" and "edges".'
            )
        return VariableGraph.parse(*([str(name) for name in each or ()] for each in lists))


def _parse_row(row: str) -> tuple[str, list[str]]:
    output, arrow, sources = row.partition("<-")
    if not arrow:
        raise GraphError(
            f"Graph row {row!r}: expected the form `Ball[1].x <- Ball[0].x, Ball[1].x`."
        )
    names = [source.strip() for source in sources.split(",")]
    return output.strip(), [name for name in names if name not in ("", "(nothing)")]


def _position(name: str, known: Mapping[str, int]) -> int:
    if name not in known:
        raise GraphError(f"Unknown variable `{name}`. {suggest(name, known)}")
    return known[name]
