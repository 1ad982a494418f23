"""From gains to a graph: the paper's rule, and a search around the current estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from oocdm.discovery.gains import Gains, Settling, Stopping, part_gains
from oocdm.discovery.parts import StructureParts
from oocdm.discovery.rule import Rule
from oocdm.graph import Evidence, Graph
from oocdm.models.network import AbstractClassModel
from oocdm.models.prepared import Prepared


@dataclass(frozen=True)
class Discovery:
    """A discovered structure, and the evidence for each edge.

    `structure` has one boolean for each possible edge, then one for each target and path. It is
    what to go on learning with: open edges may be in it, but are not in the graph. It is cut if
    limited time left less to look at.
    """

    structure: np.ndarray
    evidence: Evidence
    is_cut: bool = False

    @property
    def graph(self) -> Graph:
        """The edges of the structure without those that are still open, or there for trial."""
        is_out = np.isin(self.evidence.decision, ["undecided", "no"])
        is_in = self.structure[: len(self.evidence.score)] & ~is_out
        return self.evidence.edges.graph(is_in)


@dataclass(frozen=True)
class Search:
    """Where and how to search: the data, what may change, and the rules."""

    data: Prepared
    free: np.ndarray  # parts that may change
    rule: Rule
    path_threshold: float
    resolution: Mapping[str, Tensor] | None
    patience: int = Stopping.patience  # transitions before a part may be given up
    weights: np.ndarray | None = None  # of the edges, from soft priors
    settling: Settling | None = None

    def gains(self, model: AbstractClassModel, structure: np.ndarray, tested: np.ndarray) -> Gains:
        """What the tested parts add around a structure."""
        num_edges = len(model.index)
        effect = np.full(len(structure), self.path_threshold)
        effect[:num_edges] = self.rule.effect
        stopping = Stopping(effect, patience=self.patience)
        return part_gains(
            model, self.data, structure, self.resolution, tested, stopping, self.settling
        )

    def judge(self, gains: Gains, num_edges: int) -> tuple[np.ndarray, np.ndarray]:
        """Which parts are helpful, and which are useless; edges may be neither."""
        helpful = gains.mean > self.path_threshold
        useless = ~helpful
        edges, tested = _first(gains, num_edges), self.free[:num_edges]
        helpful[:num_edges] = self.rule.is_found(edges, tested, self.weights)
        words = self.rule.decisions(edges, helpful[:num_edges], tested)
        useless[:num_edges] = words == "no"
        return helpful, useless


def discover_leave_one_out(
    model: AbstractClassModel, start: np.ndarray, search: Search
) -> Discovery:
    """Algorithm 1 of the paper: keep each edge whose CMI, left out of the full graph, is large.

    Paths, and edges that are not free, stay as they are.
    """
    num_edges = len(model.index)
    is_tested = search.free.copy()
    is_tested[num_edges:] = False
    full = start | is_tested
    gains = part_gains(model, search.data, full, search.resolution, is_tested)
    testable = search.free[:num_edges]
    found = search.rule.is_found(_first(gains, num_edges), testable, search.weights)
    structure = full.copy()
    structure[:num_edges][testable] = found[testable]
    edges = _first(gains, num_edges)
    return Discovery(structure, search.rule.evidence(model.edges, edges, found, testable))


def discover_around(
    model: AbstractClassModel, start: np.ndarray, search: Search, max_passes: int = 12
) -> Discovery:
    """Search from an estimate: add what helps, drop what does not, until nothing moves.

    In each pass every target adds its most helpful absent part, or else drops the weaker half
    of its useless ones. Two inputs that can stand in for each other are both useless while both
    are present; dropping some at a time keeps one of them, and if that was the wrong one, the
    other adds little, but surely more than nothing: such a part is let in once, so that the two
    can be compared. Undecided edges stay where they are, so that those of them that act only
    together go on being learned. Parts that are not free stay as they are.
    """
    parts = StructureParts.of(model.schema)
    structure, num_edges = start.copy(), parts.num_edges
    is_tried = ~parts.is_edge  # only edges are let in for once
    gains = search.gains(model, structure, search.free)
    for _ in range(max_passes):
        helpful, useless = search.judge(gains, num_edges)
        moves = [
            _moves(columns, structure, gains, helpful, useless, search.free, is_tried)
            for columns in parts.columns
        ]
        has_moved = np.zeros(len(structure), dtype=bool)
        for columns, moved in zip(parts.columns, moves, strict=True):
            is_trial = ~structure[moved] & ~helpful[moved]
            is_tried[columns] |= is_trial.any()
            structure[moved] ^= True
            has_moved[columns] = len(moved) > 0
        if not has_moved.any():
            break
        # Targets do not share predictors: those whose parts stayed have the same gains again.
        again = search.gains(model, structure, search.free & has_moved)
        gains = gains.replaced(again, has_moved)
    helpful, _ = search.judge(gains, num_edges)
    testable = search.free[:num_edges]
    # A last pass may have moved an edge whose gain was seen before the move.
    found = helpful[:num_edges] & structure[:num_edges]
    edges = _first(gains, num_edges)
    return Discovery(structure, search.rule.evidence(model.edges, edges, found, testable))


def _moves(
    columns: np.ndarray,
    structure: np.ndarray,
    gains: Gains,
    is_helpful: np.ndarray,
    is_useless: np.ndarray,
    free: np.ndarray,
    is_tried: np.ndarray,
) -> np.ndarray:
    """The parts of one target to turn in one pass."""
    columns = columns[free[columns]]
    values = gains.mean
    absent, present = columns[~structure[columns]], columns[structure[columns]]
    helpful = absent[is_helpful[absent]]
    if len(helpful):
        return helpful[[values[helpful].argmax()]]
    weak = present[is_useless[present]]
    if len(weak):
        return weak[np.argsort(values[weak], kind="stable")][: (len(weak) + 1) // 2]
    promising = absent[gains.is_promising[absent] & ~is_tried[absent]]
    return promising[[values[promising].argmax()]] if len(promising) else promising


def _first(gains: Gains, num: int) -> Gains:
    return gains.map(lambda values: values[:num])
