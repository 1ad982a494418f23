"""What the data say about each possible edge: how much it helps, how sure that is, the decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

import numpy as np

from oocdm.errors import GraphError
from oocdm.graph.class_graph import AbstractEdgeSpace, Graph
from oocdm.graph.edge_evidence import EdgeEvidence
from oocdm.reading import AnyNumber, Probability, known_name, read

if TYPE_CHECKING:
    import pandas as pd

# yes and no were decided by the data; undecided edges are not in the graph but open; untestable
# ones cannot occur in the data; required and forbidden ones were given by the user.
Decision = Literal["yes", "no", "undecided", "untestable", "required", "forbidden"]
DECISIONS: tuple[str, ...] = get_args(Decision)


@dataclass(frozen=True, repr=False, eq=False)
class Evidence:
    """One number of each kind for each possible edge, in the order of `edges`.

    `score` is in nats for likelihood ratios and in the unit of the test otherwise, NaN where
    there is none; `low` and `high` bound it; `limit` is what a useless edge may add to the same
    target, and `p_value` that of "the edge adds no more";
    `stability` is the share of repeated looks that agree with the decision.

    >>> from oocdm.graph import ClassEdges
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> evidence = Evidence.nothing(ClassEdges.of(Schema(Ball)))
    >>> evidence.decision.tolist()
    ['undecided', 'undecided']
    >>> evidence
    Evidence(2 undecided)
    >>> for row in str(evidence).splitlines():  # each edge that is there or may be
    ...     print(row[:88])
    edge                  decision       score          low to high   limit   p-value  share
    Ball.x <- self.x      undecided
    Ball.x <- Ball[*].x   undecided
    >>> evidence["Ball.x <- self.x"].decision
    'undecided'
    """

    edges: AbstractEdgeSpace
    score: np.ndarray
    low: np.ndarray
    high: np.ndarray
    limit: np.ndarray
    p_value: np.ndarray
    stability: np.ndarray
    decision: np.ndarray  # of strings, one of DECISIONS each

    def __post_init__(self) -> None:
        num = len(self.edges)
        for column in fields(self)[1:]:
            values = np.array(
                getattr(self, column.name), str if column.name == "decision" else float
            )
            if values.shape != (num,):
                raise GraphError(
                    f"Evidence.{column.name}: expected one value for each of the {num} possible "
                    f"edges, got shape {values.shape}."
                )
            if column.name in ("p_value", "stability"):
                self._check(column.name, values, (values < 0) | (values > 1), "from 0 to 1")
            values.setflags(write=False)
            object.__setattr__(self, column.name, values)
        self._check("high", self.high, self.high < self.low, "no smaller than `low`")
        unknown = set(self.decision.tolist()) - set(DECISIONS)
        if unknown:
            raise GraphError(f"Evidence.decision: expected {DECISIONS}, got {sorted(unknown)}.")

    def _check(self, column: str, values: np.ndarray, is_wrong: np.ndarray, allowed: str) -> None:
        if is_wrong.any():
            i = int(is_wrong.argmax())
            raise GraphError(
                f"Evidence.{column}: expected numbers {allowed}, got {values[i]} of "
                f"`{self.edges.names[i]}`."
            )

    def __repr__(self) -> str:
        counts = [(word, int((self.decision == word).sum())) for word in DECISIONS]
        return f"Evidence({', '.join(f'{n} {word}' for word, n in counts if n)})"

    def __str__(self) -> str:
        shown = np.flatnonzero(np.isin(self.decision, ["yes", "required", "undecided"]))
        names = [self.edges.names[i] for i in shown]
        width = max((len(name) for name in names), default=4) + 3
        rows = [
            f"{'edge':{width}}{'decision':11} {'score':>8} {'low to high':>20} {'limit':>7} "
            f"{'p-value':>9} {'share':>6} "
            "stability"
        ]
        for name, i in zip(names, shown, strict=True):
            score, low, high, limit, p, share, stability = (
                "" if np.isnan(column[i]) else f"{column[i]:{form}}"
                for column, form in (
                    *((self.score, ".3g"), (self.low, ".3g"), (self.high, ".3g")),
                    *((self.limit, ".2g"), (self.p_value, ".2g"), (self.share, ".0%")),
                    (self.stability, ".0%"),
                )
            )
            between = f"{low} to {high}" if low else ""
            row = f"{name:{width}}{self.decision[i]:11} {score:>8} {between:>20} {limit:>7} {p:>9}"
            row += f" {share:>6} {stability}"
            rows.append(row.rstrip())
        return "\n".join(rows)

    # ---------------------------------------------------------------- making

    @staticmethod
    def nothing(edges: AbstractEdgeSpace) -> Evidence:
        """Before any look at data: every edge is open."""
        no, yes = np.zeros(len(edges), dtype=bool), np.ones(len(edges), dtype=bool)
        return Evidence.of_test(edges, is_tested=yes, is_found=no, is_rejected=no)

    @staticmethod
    def of_test(
        edges: AbstractEdgeSpace,
        is_tested: np.ndarray,
        is_found: np.ndarray,
        is_rejected: np.ndarray,
        *,
        score: np.ndarray | float = np.nan,
        low: np.ndarray | float = np.nan,
        high: np.ndarray | float = np.nan,
        limit: np.ndarray | float = np.nan,
        p_value: np.ndarray | float = np.nan,
        stability: np.ndarray | float = np.nan,
    ) -> Evidence:
        """What a test of edges says, in words and numbers; numbers only of tested edges.

        For the words see `decision_words`.
        """
        given = {"score": score, "low": low, "high": high, "limit": limit, "p_value": p_value}
        numbers = {
            name: np.where(is_tested, values, np.nan)
            for name, values in {**given, "stability": stability}.items()
        }
        decision = decision_words(is_tested, is_found, is_rejected)
        return Evidence(edges, **numbers, decision=decision)

    def with_given(self, is_required: np.ndarray, is_forbidden: np.ndarray) -> Evidence:
        """The same, but a user gave some edges; what is required cannot be forbidden."""
        words = np.where(is_forbidden, "forbidden", self.decision)
        return replace(self, decision=np.where(is_required, "required", words))

    def only(self, is_tested: np.ndarray) -> Evidence:
        """The same of some edges; all others are untestable, and have no numbers."""
        decision = np.where(is_tested, self.decision, "untestable")
        numbers = {
            name: np.where(is_tested, values, np.nan)
            for name, values in self._columns.items()
            if name != "decision"
        }
        return Evidence(self.edges, **numbers, decision=decision)

    def replaced(self, places: np.ndarray, other: Evidence) -> Evidence:
        """The same, but of some edges what another evidence says, which has just those."""
        columns = {name: values.copy() for name, values in self._columns.items()}
        columns["decision"] = columns["decision"].astype(object)
        for name, values in columns.items():
            values[places] = other._columns[name]
        return Evidence(self.edges, **columns)

    def at(self, places: np.ndarray, edges: AbstractEdgeSpace) -> Evidence:
        """What is said of some edges, as that of others in the same order."""
        return Evidence(edges, **{name: values[places] for name, values in self._columns.items()})

    def with_rejected(self, is_rejected: np.ndarray) -> Evidence:
        """The same, but some edges are known not to be there without a test of their own."""
        return replace(self, decision=np.where(is_rejected, "no", self.decision))

    # ---------------------------------------------------------------- asking

    def __getitem__(self, edge: str) -> EdgeEvidence:
        place = self._places[known_name(edge, self._places, "edge", GraphError)]
        return EdgeEvidence(edge, **{c: v[place].item() for c, v in self._columns.items()})

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Evidence)
            and self.edges == other.edges
            and all(
                np.array_equal(ours, other._columns[name], equal_nan=name != "decision")
                for name, ours in self._columns.items()
            )
        )

    @cached_property
    def share(self) -> np.ndarray:
        """What each edge explains of what is left unexplained without it, see `EdgeEvidence`."""
        return np.array([self[edge].share for edge in self.edges.names])

    @property
    def is_in(self) -> np.ndarray:
        """Which edges are in the graph: those that were decided or required."""
        return np.isin(self.decision, ["yes", "required"])

    @property
    def graph(self) -> Graph:
        """The graph of the edges that are in it."""
        return self.edges.graph(self.is_in)

    @cached_property
    def _columns(self) -> dict[str, np.ndarray]:
        return {column.name: getattr(self, column.name) for column in fields(self)[1:]}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.edges.names)}

    @property
    def is_decided(self) -> np.ndarray:
        """Which edges the data decided, one way or the other."""
        return np.isin(self.decision, ["yes", "no"])

    def roc_auc(self, true: Graph, counts: Mapping[str, int] | None = None) -> float:
        """How well scores rank true edges above absent ones, from 0 to 1; 0.5 is chance.

        Over the edges that have a score. With `counts` class edges count as often as there are
        variables that they stand for. NaN if there are only true or only absent ones.
        """
        is_true = self.edges.mask(true)
        weight = np.ones(len(self.score))
        if counts is not None:
            weight = self.edges.num_pairs(counts).astype(float)
        chosen = ~np.isnan(self.score) & (weight > 0)
        return weighted_auc(self.score[chosen], is_true[chosen], weight[chosen])

    def to_frame(self) -> pd.DataFrame:
        """One row for each possible edge: edge, decision and the numbers."""
        import pandas as pd

        frame = pd.DataFrame({"edge": self.edges.names, **self._columns, "share": self.share})
        return frame[[*(column.name for column in fields(EdgeEvidence)), "share"]]

    def rows(self) -> list[dict[str, Any]]:
        """One JSON-ready row for each possible edge; None where there is no number."""
        return [
            {"edge": edge, **{name: plain(values[i]) for name, values in self._columns.items()}}
            for i, edge in enumerate(self.edges.names)
        ]

    @staticmethod
    def from_rows(edges: AbstractEdgeSpace, rows: Sequence[Mapping[str, Any]]) -> Evidence:
        """Read back what `rows` gave."""
        read_rows: list[Any] = read(list[_Row], rows, "Evidence", GraphError, complete=True)
        if [row["edge"] for row in read_rows] != list(edges.names):
            raise GraphError("Evidence: expected one row for each possible edge, in their order.")
        numbers = {
            f.name: np.array([_number(row[f.name]) for row in read_rows], float)
            for f in fields(Evidence)[1:-1]
        }
        decision = np.array([row["decision"] for row in read_rows])
        return Evidence(edges, **numbers, decision=decision)


class _Row(TypedDict):
    edge: str
    score: AnyNumber | None
    low: AnyNumber | None
    high: AnyNumber | None
    limit: AnyNumber | None
    p_value: Probability | None
    stability: Probability | None
    decision: Decision


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def decision_words(
    is_tested: np.ndarray, is_found: np.ndarray, is_rejected: np.ndarray
) -> np.ndarray:
    """The decisions of a test in words, one of `DECISIONS` each.

    >>> yes, no = np.array([True]), np.array([False])
    >>> [str(decision_words(*said)[0]) for said in ((no, yes, no), (yes, yes, yes), (yes, no, no))]
    ['untestable', 'yes', 'undecided']
    """
    words = ["untestable", "yes", "no"]
    return np.select([~is_tested, is_found, is_rejected], words, "undecided")


def weighted_auc(score: np.ndarray, is_true: np.ndarray, weight: np.ndarray) -> float:
    """The share of pairs, one true and one not, in which the true one has the larger score.

    >>> weighted_auc(np.array([0.1, 0.5, 0.9]), np.array([False, True, True]), np.ones(3))
    1.0
    """
    above = (score[:, None] > score) + 0.5 * (score[:, None] == score)
    pairs = np.outer(weight * is_true, weight * ~is_true)
    return float((above * pairs).sum() / pairs.sum()) if pairs.sum() else float("nan")


def plain(value: Any) -> float | str | None:
    """A number or word of a table, JSON-ready: None for NaN."""
    if isinstance(value, str):
        return str(value)
    return None if np.isnan(value) else float(value)
