"""OOCDM: causal graph and dynamics learned together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.discovery import (
    Discovery,
    OnSettled,
    Rule,
    Search,
    Stopping,
    discover_around,
    discover_leave_one_out,
    discover_variables,
)
from oocdm.discovery.limits import limits_of
from oocdm.discovery.plausible import keep_plausible
from oocdm.graph import ClassGraph, Evidence, Graph, Layout, Structure
from oocdm.methods.class_method import PAPER_SCHEDULE, AbstractClassMethod
from oocdm.methods.method import Inquiry, LearningState, Term
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.parts.pairs import Pairs
from oocdm.models.oocdm.predictor import LATE
from oocdm.models.scales import Scales
from oocdm.models.world_model import AbstractWorldModel
from oocdm.reading import Count, NotNegative, Positive, Probability, Range, Share, Size
from oocdm.schema import Schema

Objective = Literal["any-structure", "three-graphs"]
SearchName = Literal["around", "leave-one-out"]


@dataclass(frozen=True)
class Oocdm(AbstractClassMethod):
    """Learns predictors under many graphs, discovers the graph from them, and repeats.

    The objective "any-structure" divides each batch among four kinds of structures: any (half of
    them the full one, the others with each element by a probability that is itself drawn), the
    estimate with its contested elements in any combination, neighbours of the estimate (one element
    of each target the other way round) and the estimate; the search "around"
    compares the estimate with its neighbours on held-out episodes.
    `Oocdm.preset("paper")` scores every sample under "three-graphs", a random G_lambda of its own,
    G_1 and the estimate, and leaves single edges out of the full graph, on the training data. With
    fewer `num_graphs` samples share random graphs, which is faster.

    >>> Oocdm.preset("paper").objective_name
    'three-graphs'
    """

    name: ClassVar[str] = "oocdm"

    objective_name: Objective = "any-structure"  # or "three-graphs", the paper's
    search_name: SearchName = "around"  # or "leave-one-out", the paper's
    # Share of the unexplained variance that an edge must explain; None: any, however little.
    min_effect: Share | None = None
    false_discovery_rate: Share = 0.05  # expected share of wrong edges among those found
    threshold: float | None = None  # nats that an edge must add, instead of the two above
    path_threshold: float = 0.02  # nats that a path of a predictor must add
    num_graphs: Size = 32  # different structures in a batch
    contested_weight: Positive = 10.0  # how much more often neighbours turn a contested element
    edge_probability: Probability = 0.9  # lambda of the paper, with "three-graphs"
    alpha: NotNegative = 1.0  # weight of the full graph, with "three-graphs"
    beta: NotNegative = 1.0  # weight of the estimate, with "three-graphs"
    max_scored: Count = 20_000  # held-out transitions of one search around the estimate, at most
    patience: Count = 4096  # transitions before an edge may be given up; at most half of them
    # Whether targets that a richer network surely predicts better are learned again, alone: with
    # what happens between two objects, and with products.
    focus: bool = True
    # Probability that a single variable is hidden from a training sample, as variable-level
    # discovery will do; half of the samples keep everything.
    hide_variables: Annotated[float, Range(at_least=0, below=1)] = 0.0  # type: ignore[misc]

    @classmethod
    def preset(cls, name: str, **options: Any) -> Self:
        paper = {
            "objective_name": "three-graphs",
            "search_name": "leave-one-out",
            "threshold": 0.1,
            "num_graphs": PAPER_SCHEDULE.batch_size,  # one for each sample
        }
        return super().preset(name, **{**(paper if name == "paper" else {}), **options})

    @property
    def rule(self) -> Rule:
        """How gains become decisions."""
        return Rule(self.min_effect, self.false_discovery_rate, self.threshold)

    @property
    def focuses(self) -> bool:
        return self.focus and self.search_name == "around" and not self.hide_variables

    @property
    def confirms(self) -> bool:
        return self.search_name == "around"

    @property
    def weighs_beliefs(self) -> bool:
        return self.threshold is None

    def with_threshold(self, threshold: float) -> Self:
        return replace(self, threshold=threshold)

    def after_training(self) -> Self:
        # What the network will not have shown by then it does not know.
        return replace(self, patience=min(self.patience, Stopping.patience))

    def build(
        self, schema: Schema, scales: Scales, counts: Mapping[str, int] | None = None
    ) -> OocdmModel:
        # A hidden value is 0, and so is the mean of all others: the network must tell them apart.
        options = replace(self.model, flag_unknown=True) if self.hide_variables else self.model
        return OocdmModel(schema, options, scales)

    def start(
        self, layout: Layout, known: np.ndarray | None, testable: np.ndarray
    ) -> tuple[Structure, Structure]:
        estimate, free = super().start(layout, known, testable)
        if self.search_name == "leave-one-out":
            return estimate, free.with_paths(False)  # the full graph says nothing of paths
        late = layout.ways(LATE)
        return estimate - late, free.with_paths(True) - late

    # ---------------------------------------------------------------- learning

    def objective(self, now: LearningState, rng: np.random.Generator) -> list[Term]:
        estimate, free = now.estimate.flags, now.free.flags
        if self.objective_name == "three-graphs":
            num = min(self.num_graphs, self.schedule.batch_size)
            is_random = rng.random((num, len(estimate))) < self.edge_probability
            # Their mean, since gradients are clipped, and steps do not depend on the size else.
            return [
                Term(1 / 3, np.where(free, is_random, estimate)),
                Term(self.alpha / 3, (estimate | free)[None]),
                Term(self.beta / 3, estimate[None]),
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

    def _neighbours(self, count: int, now: LearningState, rng: np.random.Generator) -> np.ndarray:
        """The estimate with one element of each target turned, as discovery will compare them.

        Contested elements are turned more often: with and without them the network must be equally
        well trained. In half of the rows an edge that comes in takes the place of another, which
        may only have stood in for it.
        """
        estimate, layout = now.estimate.flags, now.estimate.layout
        weight = np.where(now.contested.flags, self.contested_weight, 1.0) * now.free.flags
        with np.errstate(divide="ignore"):
            drawn = np.log(weight) + rng.gumbel(size=(count, len(weight)))
        rows, is_turned = np.arange(count), np.zeros(drawn.shape, dtype=bool)
        for columns in layout.by_target:
            chosen = columns[drawn[:, columns].argmax(1)]
            is_turned[rows, chosen] = True
            present = columns[layout.is_edge[columns] & estimate[columns]]
            if len(present):
                replaced = rng.choice(present, size=count)
                comes_in = (rows % 2 == 1) & layout.is_edge[chosen] & ~estimate[chosen]
                is_turned[rows[comes_in], replaced[comes_in]] = True
        return estimate ^ (is_turned & now.free.flags)

    @property
    def goes_on(self) -> bool:
        return self.schedule.iterations is None

    # ---------------------------------------------------------------- discovery

    def discover(self, inquiry: Inquiry) -> Discovery | None:
        model, free = inquiry.model, inquiry.free
        if self.search_name == "leave-one-out":
            if not free.edges.any():
                return None
            search = Search(
                inquiry.data,
                free,
                self.rule,
                resolution=self._resolution(model),
                weights=inquiry.weights,
                on_settled=inquiry.on_settled,
            )
            return discover_leave_one_out(model, inquiry.estimate, search)
        return discover_around(model, inquiry.estimate, self.search(inquiry))

    def search(self, inquiry: Inquiry) -> Search:
        """Where and how to search around an estimate."""
        model, free = inquiry.model, inquiry.free
        scored = inquiry.data.rows(slice(0, self.max_scored))
        return Search(
            scored,
            free,
            self._rule_for(inquiry),
            # While edges are open a path goes only if it does harm: it may be the way in of an
            # edge that has not been learned yet. What helps too little goes in the end.
            path_threshold=0.0 if free.edges.any() else self.path_threshold,
            # Pairs cost more than all else: they must earn their place at once. What acts
            # through them alone comes back with all that is free.
            path_thresholds={Pairs.name: self.path_threshold},
            resolution=self._resolution(model),
            patience=min(self.patience, len(scored) // 2),
            weights=inquiry.weights,
            on_settled=inquiry.on_settled,
        )

    def _rule_for(self, inquiry: Inquiry) -> Rule:
        """The rule where useless edges may add more the faster their targets are still learned."""
        if inquiry.limits is not None:
            return self.rule.within(np.nan_to_num(inquiry.limits))
        if inquiry.before is None or self.threshold is not None:
            return self.rule
        resolution = self._resolution(inquiry.model)
        args = (inquiry.model, inquiry.before, inquiry.data, inquiry.estimate, resolution)
        return self.rule.within(limits_of(*args))

    def keep_plausible(self, inquiry: Inquiry) -> Structure:
        if self.threshold is not None or self.search_name == "leave-one-out":
            return super().keep_plausible(inquiry)  # what is not above a threshold is out
        scored = inquiry.data.rows(slice(0, self.max_scored))
        return keep_plausible(
            *(inquiry.model, scored, inquiry.estimate, inquiry.free),
            resolution=self._resolution(inquiry.model),
            patience=min(self.patience, len(scored) // 2),
        )

    def discover_variables(
        self, model: AbstractWorldModel, graph: Graph, data: Dataset, on_settled: OnSettled | None
    ) -> Evidence:
        assert isinstance(graph, ClassGraph)  # as it finds them
        if self.search_name == "around":
            data = data.head(self.max_scored)
        blur = self._resolution(model)
        return discover_variables(model, data, graph, self.rule, blur, on_settled)

    def _resolution(self, model: AbstractWorldModel) -> dict[str, Tensor] | None:
        """Edges are judged as finely as they were learned."""
        fraction = self.schedule.resolution
        return model.resolution(fraction) if fraction else None


def _any(count: int, now: LearningState, rng: np.random.Generator) -> np.ndarray:
    """Half of them have all that may be there, the others each element with a drawn probability.

    What acts only together with others is learned where all of it is there, and would be given
    up before it has been learned if that were rare.
    """
    estimate = now.estimate.flags
    probability = rng.random((count, 1))
    probability[: count // 2] = 1.0
    is_present = rng.random((count, len(estimate))) < probability
    return np.where(now.free.flags, is_present, estimate)


def _undecided(count: int, now: LearningState, rng: np.random.Generator) -> np.ndarray:
    """The estimate with contested elements turned as often as not, in any combination."""
    estimate = now.estimate.flags
    is_turned = rng.random((count, len(estimate))) < 0.5
    return estimate ^ (is_turned & (now.contested & now.free).flags)
