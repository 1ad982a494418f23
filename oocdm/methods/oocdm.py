"""OOCDM: causal graph and dynamics learned together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from oocdm.discovery import (
    Discovery,
    Rule,
    Search,
    StructureParts,
    discover_around,
    discover_leave_one_out,
)
from oocdm.errors import ModelError
from oocdm.graph import AbstractEdgeSpace
from oocdm.methods.class_method import AbstractClassMethod
from oocdm.methods.method import Look, Standing, Term
from oocdm.models.fast import FastModel
from oocdm.models.network import AbstractClassModel
from oocdm.models.scales import Scales
from oocdm.schema import Schema


@dataclass(frozen=True)
class Oocdm(AbstractClassMethod):
    """Learns predictors under many graphs, discovers the graph from them, and repeats.

    The default divides each batch among four kinds of structures: any (each part present with
    a probability that is itself drawn), the estimate with its contested parts in any combination,
    neighbours of the estimate (one part of each target the other way round) and the estimate;
    discovery compares the estimate with its neighbours on
    held-out episodes. `Oocdm.preset("paper")` scores every sample under G_lambda, G_1 and the
    estimate, and leaves single edges out of the full graph, on the training data.

    >>> Oocdm.preset("paper").edge_probability
    0.9
    """

    name: ClassVar[str] = "oocdm"

    min_effect: float = 0.1  # share of the unexplained variance that an edge must explain
    false_discovery_rate: float = 0.05  # expected share of wrong edges among those found
    threshold: float | None = None  # nats that an edge must add, instead of the two above
    path_threshold: float = 0.02  # nats that a part of a predictor must add
    num_graphs: int = 32  # different structures in a batch
    contested_weight: float = 10.0  # how much more often neighbours turn a contested part
    edge_probability: float = 0.9  # lambda of the paper, with preset "paper"
    alpha: float = 1.0  # weight of the full graph, with preset "paper"
    beta: float = 1.0  # weight of the estimate, with preset "paper"
    max_scored: int = 20_000  # held-out transitions used by one discovery, at most
    patience: int = 4096  # transitions before an edge may be given up; at most half of them
    # Probability that a single variable is hidden from a training sample, as variable-level
    # discovery will do; half of the samples keep everything.
    hide_variables: float = 0.0  # type: ignore[misc]

    def __post_init__(self) -> None:
        if not 0 <= self.hide_variables < 1:
            raise ModelError(
                "hide_variables: expected a probability from 0 to less than 1, got "
                f"{self.hide_variables!r}."
            )
        _ = self.rule  # which refuses what means nothing, before any training

    @classmethod
    def preset(cls, name: str, **options: Any) -> Self:
        return super().preset(name, **({"threshold": 0.1} if name == "paper" else {}) | options)

    @property
    def rule(self) -> Rule:
        """How gains become decisions."""
        return Rule(self.min_effect, self.false_discovery_rate, self.threshold)

    @property
    def is_paper(self) -> bool:
        """Whether the objective and the discovery rule are the paper's."""
        return self.preset_name == "paper"

    @property
    def weighs_beliefs(self) -> bool:
        return self.threshold is None

    def with_threshold(self, threshold: float) -> Self:
        return replace(self, threshold=threshold)

    def build(
        self, schema: Schema, scales: Scales, counts: Mapping[str, int] | None = None
    ) -> FastModel:
        # A hidden value is 0, and so is the mean of all others: the network must tell them apart.
        options = replace(self.model, flag_unknown=True) if self.hide_variables else self.model
        return FastModel(schema, options, scales)

    def start(
        self, edges: AbstractEdgeSpace, known: np.ndarray | None, testable: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        num_paths = StructureParts.of(edges.schema).width - len(testable)
        is_in = testable if known is None else known
        is_free = testable if known is None else np.zeros_like(testable)
        return (
            np.concatenate([is_in, np.ones(num_paths, dtype=bool)]),
            np.concatenate([is_free, np.full(num_paths, not self.is_paper)]),
        )

    def objective(self, now: Standing, rng: np.random.Generator) -> list[Term]:
        estimate, free = now.estimate, now.free
        if self.is_paper:
            is_random = rng.random((self.num_graphs, len(estimate))) < self.edge_probability
            full = np.where(free, True, estimate)
            return [
                Term(1.0, np.where(free, is_random, estimate)),
                Term(self.alpha, full[None]),
                Term(self.beta, estimate[None]),
            ]
        if now.iteration == 0:
            return [Term(1.0, _any(self.num_graphs, now, rng))]
        quarter = self.num_graphs // 4
        rows = [
            _any(quarter, now, rng),
            _undecided(quarter, now, rng),
            self._neighbours(quarter, now, rng),
            np.repeat(estimate[None], self.num_graphs - 3 * quarter, axis=0),
        ]
        return [Term(1.0, np.concatenate(rows))]

    def _neighbours(self, count: int, now: Standing, rng: np.random.Generator) -> np.ndarray:
        """The estimate with one part of each target turned, as discovery will compare them.

        Contested parts are turned more often: with and without them the network must be equally
        well trained. In half of the rows an edge that comes in takes the place of another, which
        may only have stood in for it.
        """
        weight = np.where(now.contested, self.contested_weight, 1.0) * now.free
        with np.errstate(divide="ignore"):
            drawn = np.log(weight) + rng.gumbel(size=(count, len(weight)))
        rows, is_turned = np.arange(count), np.zeros(drawn.shape, dtype=bool)
        parts = StructureParts.of(now.model.schema)
        for columns in parts.columns:
            chosen = columns[drawn[:, columns].argmax(1)]
            is_turned[rows, chosen] = True
            edges = columns[columns < parts.num_edges]
            present = edges[now.estimate[edges]]
            if len(present):
                replaced = rng.choice(present, size=count)
                is_edge = (rows % 2 == 1) & (chosen < parts.num_edges)
                comes_in = is_edge & ~now.estimate[chosen]
                is_turned[rows[comes_in], replaced[comes_in]] = True
        return now.estimate ^ (is_turned & now.free)

    def discover(self, look: Look) -> Discovery | None:
        model, free = look.model, look.free
        assert isinstance(model, AbstractClassModel)  # as built
        if self.is_paper:
            if not free[: len(model.index)].any():
                return None
            search = Search(
                look.data, free, self.rule, self.path_threshold, None, weights=look.weights
            )
            return discover_leave_one_out(model, look.estimate, search)
        scored = look.data.rows(slice(0, self.max_scored))
        resolution = model.resolution(self.schedule.resolution)
        # While edges are open a path goes only if it does harm: it may be the way in of an edge
        # that has not been learned yet. What helps too little goes in the end.
        are_edges_open = free[: len(model.index)].any()
        path_threshold = 0.0 if are_edges_open else self.path_threshold
        patience = min(self.patience, len(scored) // 2)
        search = Search(
            *(scored, free, self.rule, path_threshold, resolution),
            patience,
            look.weights,
            look.settling,
        )
        return discover_around(model, look.estimate, search)


def _any(count: int, now: Standing, rng: np.random.Generator) -> np.ndarray:
    """Structures whose parts are present with a probability that is itself drawn."""
    probability = rng.random((count, 1))
    is_present = rng.random((count, len(now.estimate))) < probability
    return np.where(now.free, is_present, now.estimate)


def _undecided(count: int, now: Standing, rng: np.random.Generator) -> np.ndarray:
    """The estimate with contested parts turned as often as not, in any combination."""
    is_turned = rng.random((count, len(now.estimate))) < 0.5
    return now.estimate ^ (is_turned & now.contested & now.free)
