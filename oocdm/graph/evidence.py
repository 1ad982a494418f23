"""What the data say about each possible edge: how much it helps, how sure that is, the decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from oocdm.errors import GraphError
from oocdm.graph.classes import ClassGraph
from oocdm.graph.edges import EdgeIndex
from oocdm.schema import Schema

# yes and no were decided by the data; undecided edges are not in the graph but open; untestable
# ones cannot occur in the data; required and forbidden ones were given by the user.
DECISIONS = ("yes", "no", "undecided", "untestable", "required", "forbidden")


@dataclass(frozen=True)
class Evidence:
    """One number of each kind for each possible edge, in EdgeIndex order.

    `score` is in nats for likelihood ratios and in the unit of the test otherwise, NaN where
    there is none; `low` and `high` bound it; `p_value` is that of "the edge adds nothing";
    `stability` is the share of repeated looks that agree with the decision.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> evidence = Evidence.nothing(Schema(Ball))
    >>> evidence.decision.tolist()
    ['undecided', 'undecided']
    """

    schema: Schema
    score: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p_value: np.ndarray
    stability: np.ndarray
    decision: np.ndarray  # of strings, one of DECISIONS each

    def __post_init__(self) -> None:
        num = len(EdgeIndex.of(self.schema))
        for column in fields(self)[1:]:
            values = np.asarray(getattr(self, column.name))
            if values.shape != (num,):
                raise GraphError(
                    f"Evidence.{column.name}: expected one value for each of the {num} possible "
                    f"edges, got shape {values.shape}."
                )
        unknown = set(self.decision.tolist()) - set(DECISIONS)
        if unknown:
            raise GraphError(f"Evidence.decision: expected {DECISIONS}, got {sorted(unknown)}.")

    @staticmethod
    def nothing(schema: Schema) -> Evidence:
        """Before any look at data: every edge is open."""
        num = len(EdgeIndex.of(schema))
        unknown = np.full(num, np.nan)
        columns = {f.name: unknown for f in fields(Evidence)[1:-1]}
        return Evidence(schema, **columns, decision=np.full(num, "undecided"))

    @property
    def graph(self) -> ClassGraph:
        """The edges that were decided or required."""
        return ClassGraph(self.schema, np.isin(self.decision, ["yes", "required"]))

    @property
    def is_decided(self) -> np.ndarray:
        """Which edges the data decided, one way or the other."""
        return np.isin(self.decision, ["yes", "no"])

    def roc_auc(self, true: ClassGraph, counts: Mapping[str, int] | None = None) -> float:
        """How well scores rank true edges above absent ones, from 0 to 1; 0.5 is chance.

        Over the class edges that have a score or, with `counts`, over the grounded variables,
        each with the score of its class edge. NaN if there are only true or only absent ones.
        """
        if true.schema != self.schema:
            difference = self.schema.difference(true.schema)
            raise GraphError(
                f"roc_auc: expected a graph of the same schema. It differs: {difference}."
            )
        weight = np.ones(len(self.score)) if counts is None else _multiplicity(self.schema, counts)
        chosen = ~np.isnan(self.score) & (weight > 0)
        return weighted_auc(self.score[chosen], true.mask[chosen], weight[chosen])

    def rows(self) -> list[dict[str, Any]]:
        """One JSON-ready row for each possible edge; None where there is no number."""
        columns = {f.name: getattr(self, f.name) for f in fields(self)[1:]}
        return [
            {"edge": str(edge), **{name: plain(values[i]) for name, values in columns.items()}}
            for i, edge in enumerate(EdgeIndex.of(self.schema).edges)
        ]

    @staticmethod
    def from_rows(schema: Schema, rows: Sequence[Mapping[str, Any]]) -> Evidence:
        """Read back what `rows` gave."""
        expected = [str(edge) for edge in EdgeIndex.of(schema).edges]
        if [row.get("edge") for row in rows] != expected:
            raise GraphError("Evidence: expected one row for each possible edge, in their order.")
        try:
            numbers = {
                f.name: np.array(
                    [np.nan if row[f.name] is None else row[f.name] for row in rows], float
                )
                for f in fields(Evidence)[1:-1]
            }
            decision = np.array([str(row["decision"]) for row in rows])
            return Evidence(schema, **numbers, decision=decision)
        except KeyError as error:
            raise GraphError(f"Evidence: a row lacks {error}.") from None


def weighted_auc(score: np.ndarray, is_true: np.ndarray, weight: np.ndarray) -> float:
    """The share of pairs, one true and one not, in which the true one has the larger score.

    >>> weighted_auc(np.array([0.1, 0.5, 0.9]), np.array([False, True, True]), np.ones(3))
    1.0
    """
    above = (score[:, None] > score) + 0.5 * (score[:, None] == score)
    pairs = np.outer(weight * is_true, weight * ~is_true)
    return float((above * pairs).sum() / pairs.sum()) if pairs.sum() else float("nan")


def _multiplicity(schema: Schema, counts: Mapping[str, int]) -> np.ndarray:
    """How many pairs of variables each class edge stands for."""
    return np.array(
        [
            counts[e.target_class]
            * (1 if e.is_local else counts[e.source_class] - (e.source_class == e.target_class))
            for e in EdgeIndex.of(schema).edges
        ],
        dtype=float,
    )


def plain(value: Any) -> float | str | None:
    """A number or word of a table, JSON-ready: None for NaN."""
    if isinstance(value, str):
        return str(value)
    return None if np.isnan(value) else float(value)
