"""From gains to a structure: the paper's rule, and a search around the current estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from torch import Tensor

from oocdm.data.clusters import MIN_CLUSTERS
from oocdm.discovery.gains import Gains, OnSettled, Stopping, element_gains, target_gains
from oocdm.discovery.rule import Rule
from oocdm.graph import Evidence, Graph, Structure
from oocdm.models.prepared import Prepared
from oocdm.models.world_model import AbstractWorldModel

JOINTLY = 4096  # transitions on which all that is free is tried at once


@dataclass(frozen=True)
class Discovery:
    """A discovered structure, and the evidence for each edge.

    `structure` is what to go on learning with: open edges may be in it, but are not in the graph.
    It is cut if limited time left less to look at.
    """

    structure: Structure
    evidence: Evidence
    is_cut: bool = False

    @property
    def graph(self) -> Graph:
        """The edges that were decided or given."""
        return self.evidence.graph


@dataclass(frozen=True)
class Search:
    """Where and how to search: the data, what may change, and the rules."""

    data: Prepared
    free: Structure  # elements that may change
    rule: Rule
    path_threshold: float = 0.0  # nats that a path must add
    path_thresholds: Mapping[str, float] = field(default_factory=dict)  # of paths that cost more
    resolution: Mapping[str, Tensor] | None = None
    patience: int = Stopping.patience  # transitions before an element may be given up
    weights: np.ndarray | None = None  # of the edges, from soft priors
    on_settled: OnSettled | None = None

    @cached_property
    def _least(self) -> np.ndarray:
        """Nats that each element must add."""
        layout = self.free.layout
        least = np.full(len(layout), self.path_threshold)
        least[: layout.num_edges] = self.rule.in_passing.effect
        for name, nats in self.path_thresholds.items():
            if name in layout.paths:
                place = layout.paths.index(name) - len(layout.paths)
                least[[columns[place] for columns in layout.by_target]] = nats
        return least

    def gains(self, model: AbstractWorldModel, structure: Structure, tested: Structure) -> Gains:
        """What the tested elements add around a structure."""
        stopping = Stopping(self._least, patience=self.patience)
        return element_gains(
            model, self.data, structure, self.resolution, tested, stopping, self.on_settled
        )

    def judge(self, gains: Gains) -> tuple[np.ndarray, np.ndarray]:
        """Which elements are helpful, and which are useless; edges may be neither."""
        tested = self.free.edges
        edges, helpful = gains.first(len(tested)), gains.mean > self._least
        useless = ~helpful
        helpful[: len(tested)] = self.rule.in_passing.is_found(edges, tested, self.weights)
        useless[: len(tested)] = self.rule.is_rejected(edges) & tested & ~helpful[: len(tested)]
        return helpful, useless

    def conclude(self, structure: Structure, gains: Gains) -> Discovery:
        """A structure, with what the gains say of each edge that was free."""
        edges = gains.first(structure.layout.num_edges)
        found = self.rule.is_found(edges, self.free.edges, self.weights) & structure.edges
        evidence = self.rule.evidence(structure.layout.edges, edges, found, self.free.edges)
        return Discovery(structure, evidence)


def discover_leave_one_out(
    model: AbstractWorldModel, start: Structure, search: Search
) -> Discovery:
    """Algorithm 1 of the paper: keep each edge whose CMI, left out of the full graph, is large.

    Paths, and edges that are not free, stay as they are.
    """
    tested = search.free.with_paths(False)
    full = start | tested
    gains = element_gains(
        model, search.data, full, search.resolution, tested, on_settled=search.on_settled
    )
    found = search.rule.is_found(gains.first(len(tested.edges)), tested.edges, search.weights)
    return search.conclude(full.with_edges(np.where(tested.edges, found, full.edges)), gains)


def discover_around(
    model: AbstractWorldModel, start: Structure, search: Search, max_passes: int = 12
) -> Discovery:
    """Search from an estimate: add what helps, drop what does not, until nothing moves.

    In each pass every target adds its most helpful absent element, or else drops the weaker half
    of its useless ones. Two inputs that can stand in for each other are both useless while both
    are present; dropping some at a time keeps one of them, and if that was the wrong one, the
    other adds little, but surely more than nothing: such an element is let in once, so that the two
    can be compared. Undecided edges stay where they are, so that those of them that act only
    together go on being learned. Where all that is free together surely helps a target, it begins
    with all of it: single elements would never show what acts only jointly once it is out. What is
    not free stays as it is.
    """
    start = _with_joint_causes(model, start, search)
    layout, flags = start.layout, start.flags.copy()
    may_be_tried = layout.is_edge.copy()  # only edges are let in for once
    gains = search.gains(model, start, search.free)
    for _ in range(max_passes):
        helpful, useless = search.judge(gains)
        has_moved = np.zeros(len(flags), dtype=bool)
        for columns in layout.by_target:
            free = columns[search.free.flags[columns]]
            moved = _moves(free, flags, gains, helpful, useless, may_be_tried)
            if (~flags[moved] & ~helpful[moved]).any():
                may_be_tried[columns] = False
            flags[moved] ^= True
            has_moved[columns] = len(moved) > 0
        if not has_moved.any():
            break
        # Targets do not share predictors: those whose elements stayed have the same gains again.
        again = Structure(layout, search.free.flags & has_moved)
        gains = gains.replaced(search.gains(model, Structure(layout, flags), again), has_moved)
    return search.conclude(Structure(layout, flags), gains)


def look(model: AbstractWorldModel, structure: Structure, search: Search) -> Discovery:
    """What the gains around a structure say of all that is free; nothing moves."""
    return search.conclude(structure, search.gains(model, structure, search.free))


def _with_joint_causes(model: AbstractWorldModel, start: Structure, search: Search) -> Structure:
    """The start, with all that is free for those targets that it surely helps together."""
    full, flags = start | search.free, start.flags.copy()
    if not search.free.edges.any() or full == start:
        return start
    found = target_gains(model, search.data, start, full, search.resolution, JOINTLY)
    for c, gains in found.items():
        surely = gains.mean - Stopping.errors * gains.error
        helps = (surely > search.rule.least) & (gains.groups >= MIN_CLUSTERS)
        for columns in start.layout.of_class(c)[helps]:
            flags[columns] = full.flags[columns]
    return Structure(start.layout, flags)


def _moves(
    columns: np.ndarray,
    is_in: np.ndarray,
    gains: Gains,
    is_helpful: np.ndarray,
    is_useless: np.ndarray,
    may_be_tried: np.ndarray,
) -> np.ndarray:
    """The elements of one target, of those in `columns`, to turn in one pass."""
    values, absent, present = gains.mean, columns[~is_in[columns]], columns[is_in[columns]]
    helpful = absent[is_helpful[absent]]
    if len(helpful):
        return helpful[[values[helpful].argmax()]]
    weak = present[is_useless[present]]
    if len(weak):
        return weak[np.argsort(values[weak], kind="stable")][: (len(weak) + 1) // 2]
    promising = absent[gains.is_promising[absent] & may_be_tried[absent]]
    return promising[[values[promising].argmax()]] if len(promising) else promising
