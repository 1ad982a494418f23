"""What class graphs and variable graphs have in common: edges to ask for, compare and export."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from oocdm.errors import GraphError, short
from oocdm.graph.comparison import GraphComparison, compare_masks
from oocdm.graph.edge_evidence import EdgeEvidence, EvidenceByEdge
from oocdm.graph.edges import Edge, VariableEdge
from oocdm.reading import checked, known_name

if TYPE_CHECKING:
    import networkx

E = TypeVar("E", bound=Edge | VariableEdge)


class AbstractGraph(ABC, Generic[E]):
    """A causal graph: a boolean for each possible edge, all of which have a fixed order."""

    mask: np.ndarray  # (possible edge,)

    # ---------------------------------------------------------------- what kinds differ in

    @property
    @abstractmethod
    def classes(self) -> tuple[str, ...]:
        """The names of its classes."""

    @property
    @abstractmethod
    def causes(self) -> tuple[str, ...]:
        """Everything that edges may start from: fields such as `Block.s1`, or variables."""

    @property
    @abstractmethod
    def targets(self) -> tuple[str, ...]:
        """Everything that edges may end in: fields such as `Block.s1`, or variables."""

    @abstractmethod
    def with_mask(self, mask: np.ndarray) -> Self:
        """The graph with other ones of the same possible edges."""

    @abstractmethod
    def matching(self, other: AbstractGraph[Any]) -> Self:
        """Another graph over the same possible edges; variable graphs ground class graphs."""

    @abstractmethod
    def ground(self, counts: Mapping[str, int]) -> AbstractGraph[VariableEdge]:
        """The graph over single variables for given numbers of objects."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """A JSON-ready description that `from_json` reads back."""

    @abstractmethod
    def _edge(self, place: int) -> E:
        """One of the possible edges."""

    @abstractmethod
    def _place(self, edge: E) -> int:
        """Where an edge stands among the possible ones."""

    @staticmethod
    @abstractmethod
    def _parse_row(row: str) -> list[E]:
        """The edges of a printed row."""

    @abstractmethod
    def _into(self, target: str) -> np.ndarray:
        """Where the possible edges into a target stand."""

    @abstractmethod
    def _identity(self) -> tuple[Any, ...]:
        """What equal graphs have in common."""

    # ---------------------------------------------------------------- asking

    def edges(self, target: str | None = None) -> list[E]:
        """The edges of the graph in the fixed order: all, or those into a target."""
        if target is None:
            places = np.flatnonzero(self.mask)
        else:
            known_name(target, self.targets, "target", GraphError)
            places = self._into(target)
            places = places[self.mask[places]]
        return [self._edge(place) for place in places.tolist()]

    def parents(self, target: str) -> list[str]:
        """The sources of the edges into a target, as they are printed."""
        return [edge.source for edge in self.edges(target)]

    def children(self, source: str) -> list[str]:
        """The targets that a field such as `Block.s1`, or a variable, causes."""
        known_name(source, self.causes, "source", GraphError)
        found = {edge.target for edge in self.edges() if edge.cause == source}
        return [target for target in self.targets if target in found]

    def __contains__(self, edge: E | str) -> bool:
        edges = self._parse_row(edge) if isinstance(edge, str) else [edge]
        if not edges:
            raise GraphError(f"Edge: expected a row with a source, got {edge!r}.")
        return all(bool(self.mask[self._place(each)]) for each in edges)

    def __or__(self, other: AbstractGraph[Any]) -> Self:
        return self.with_mask(self.mask | self.matching(other).mask)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AbstractGraph)
            and type(self) is type(other)
            and self._identity() == other._identity()
        )

    def __hash__(self) -> int:
        return hash(self._identity())

    def __str__(self) -> str:
        return "\n".join(
            f"{target} <- {', '.join(self.parents(target)) or '(nothing)'}"
            for target in self.targets
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self.mask.sum())} of {self.mask.size} edges)"

    @checked(GraphError)
    def compare(
        self,
        true: AbstractGraph[Any],
        counts: Mapping[str, int] | None = None,
        testable: np.ndarray | None = None,
    ) -> GraphComparison:
        """Compare with the true graph: the edges as they are, or with `counts` the grounded ones.

        The paper's graph accuracy is `graph.compare(true, counts).accuracy`. With `testable` (see
        `ClassEdges.testable`) edges that cannot occur are left out.
        """
        true = self.matching(true)
        if counts is not None:
            if testable is not None:
                raise GraphError("compare: expected counts or testable edges, got both.")
            return self.ground(counts).compare(true.ground(counts))
        chosen = np.ones_like(self.mask) if testable is None else np.asarray(testable)
        if chosen.dtype != bool or chosen.shape != self.mask.shape:
            raise GraphError(
                f"compare: `testable`: expected {len(self.mask)} booleans, one for each possible "
                f"edge, got {short(testable)}."
            )
        return compare_masks(self.mask[chosen], true.mask[chosen])

    # ---------------------------------------------------------------- exporting

    def _said_once(self, rows: Sequence[str]) -> Self:
        """The graph itself, if the rows that it was read from say each of its edges once."""
        said = Counter(str(edge) for row in rows for edge in self._parse_row(row))
        again = [edge for edge, times in said.items() if times > 1]
        if again:
            raise GraphError(
                f"Graph: expected every edge once, got `{again[0]}` {said[again[0]]} times. "
                "Leave out the others."
            )
        return self

    def to_networkx(self, evidence: EvidenceByEdge | None = None) -> networkx.DiGraph[str]:
        """A directed graph from sources such as `Block[*].s1` to targets such as `Total.s1'`.

        With evidence its edges carry score, low, high, p_value and decision.
        """
        import networkx

        graph: networkx.DiGraph[str] = networkx.DiGraph()
        names = ("score", "low", "high", "p_value", "decision")
        for source, target, edge, said in self._arrows(evidence):
            numbers = {} if said is None else {name: getattr(said, name) for name in names}
            kind = "local" if edge.is_local else "global"
            graph.add_edge(source, target, kind=kind, **numbers)
        return graph

    def to_dot(self, evidence: EvidenceByEdge | None = None) -> str:
        """Graphviz text; global edges are dashed, and with evidence edges show their scores."""
        rows = []
        for source, target, edge, said in self._arrows(evidence):
            marks = [] if edge.is_local else ["style=dashed"]
            marks += [f'label="{said.label}"'] if said is not None and said.label else []
            style = f" [{', '.join(marks)}]" if marks else ""
            rows.append(f'  "{source}" -> "{target}"{style};')
        return "\n".join(["digraph causes {", "  rankdir=LR;", *rows, "}"])

    def to_mermaid(self, evidence: EvidenceByEdge | None = None) -> str:
        """Mermaid text; global edges are dotted, and with evidence edges show their scores."""
        names: dict[str, str] = {}
        rows = []
        for source, target, edge, said in self._arrows(evidence):
            a, b = (names.setdefault(n, f"n{len(names)}") for n in (source, target))
            arrow = "-->" if edge.is_local else "-.->"
            label = f"|{said.label}|" if said is not None and said.label else ""
            rows.append(f'  {a}["{source}"] {arrow}{label} {b}["{target}"]')
        return "\n".join(["graph LR", *rows])

    def _arrows(
        self, evidence: EvidenceByEdge | None
    ) -> Iterator[tuple[str, str, E, EdgeEvidence | None]]:
        for edge in self.edges():
            said = None if evidence is None else _said(evidence, str(edge))
            yield edge.cause if edge.is_local else edge.source, f"{edge.target}'", edge, said


def _said(evidence: EvidenceByEdge, edge: str) -> EdgeEvidence:
    try:
        return evidence[edge]
    except (TypeError, LookupError):
        raise GraphError(
            f"Export: `evidence`: expected that of a fit or a discovery, got {short(evidence)}."
        ) from None
