"""From edge scores to a graph: the paper's rule, and a search around the current estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from oocdm.discovery.scores import StructureParts, part_values
from oocdm.graph import ClassGraph
from oocdm.models.network import AbstractWorldModel
from oocdm.models.prepared import Prepared


@dataclass(frozen=True)
class Discovery:
    """A discovered structure, and what each part of it adds in nats.

    `structure` has one boolean for each possible edge, then one for each target and path;
    `values` the same order. Edges that were not tested (given by the user, or impossible, such
    as one from a class with a single object to itself) have the value NaN.
    """

    graph: ClassGraph
    structure: np.ndarray
    values: np.ndarray
    testable: np.ndarray

    @property
    def edge_scores(self) -> np.ndarray:
        """The value of each possible edge, in EdgeIndex order."""
        return self.values[: len(self.graph.mask)]


def discover_leave_one_out(
    model: AbstractWorldModel,
    data: Prepared,
    testable: np.ndarray,
    threshold: float,
    resolution: Mapping[str, Tensor] | None = None,
) -> Discovery:
    """Algorithm 1 of the paper: keep each edge whose CMI, left out of the full graph, is large."""
    full = np.ones(StructureParts(model.schema).width, dtype=bool)
    num_edges = len(testable)
    tested = np.zeros_like(full)
    tested[:num_edges] = testable
    values = part_values(model, data, full, resolution, tested)
    structure = full.copy()
    structure[:num_edges] = testable & (values[:num_edges] > threshold)
    return _discovery(model, structure, values, testable)


def discover_around(
    model: AbstractWorldModel,
    data: Prepared,
    start: np.ndarray,
    free: np.ndarray,
    thresholds: np.ndarray,
    resolution: Mapping[str, Tensor],
    max_passes: int = 12,
) -> Discovery:
    """Search from an estimate: add what helps, drop what does not, until nothing moves.

    In each pass every target adds its most helpful absent part, or else drops the weaker half
    of those present parts that help less than their threshold. Two inputs that can stand in for
    each other are both weak while both are present; dropping some at a time keeps one of them.
    Edges leave as easily as they enter. Parts that are not `free` stay as they are.
    """
    parts = StructureParts(model.schema)
    structure = start.copy()
    values = np.zeros(parts.width)
    for _ in range(max_passes):
        values = part_values(model, data, structure, resolution, free)
        if not _improve(structure, values, parts, free, thresholds):
            break
    return _discovery(model, structure, values, free[: parts.num_edges])


def _improve(
    structure: np.ndarray,
    values: np.ndarray,
    parts: StructureParts,
    free: np.ndarray,
    thresholds: np.ndarray,
) -> bool:
    """One pass over all targets, in place; whether anything moved."""
    has_moved = False
    for columns in parts.columns:
        columns = columns[free[columns]]
        absent, present = columns[~structure[columns]], columns[structure[columns]]
        helpful = absent[values[absent] > thresholds[absent]]
        weak = present[values[present] <= thresholds[present]]
        if len(helpful):
            structure[helpful[values[helpful].argmax()]] = True
        elif len(weak):
            order = weak[np.argsort(values[weak], kind="stable")]
            structure[order[: (len(order) + 1) // 2]] = False
        has_moved = has_moved or len(helpful) > 0 or len(weak) > 0
    return has_moved


def _discovery(
    model: AbstractWorldModel, structure: np.ndarray, values: np.ndarray, testable: np.ndarray
) -> Discovery:
    num_edges = len(testable)
    values = values.copy()
    values[:num_edges][~testable] = np.nan
    graph = ClassGraph(model.schema, structure[:num_edges])
    return Discovery(graph, structure, values, testable)
