"""How much each edge helps: log-likelihood with it less log-likelihood without it (CMI)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from oocdm.graph import EdgeIndex
from oocdm.models.network import PATHS, AbstractWorldModel
from oocdm.models.prepared import Prepared
from oocdm.schema import Schema

CHUNK = 256  # transitions scored at once: small enough to stay in the processor's caches


class StructureParts:
    """The columns of a structure, by target: its incoming edges, then its paths."""

    def __init__(self, schema: Schema) -> None:
        index = EdgeIndex.of(schema)
        self.num_edges = len(index)
        self.targets = [(c, v) for c in schema.classes for v in schema.targets(c)]
        self.width = self.num_edges + len(self.targets) * len(PATHS)
        self.columns = [
            np.concatenate(
                [index.of_target(c, v), self.num_edges + len(PATHS) * i + np.arange(len(PATHS))]
            )
            for i, (c, v) in enumerate(self.targets)
        ]


def resolution_of(model: AbstractWorldModel, fraction: float) -> dict[str, Tensor]:
    """A blur for scores: a fraction of the spread of each field's change.

    Where a field never changes, of the spread of its value.
    """
    blur = {}
    for c in model.schema.classes:
        scales = model.head_scales(c)
        spread = torch.where(scales.change_sd > 0, scales.change_sd, scales.value_sd)
        blur[c] = fraction * spread
    return blur


@torch.no_grad()
def part_values(
    model: AbstractWorldModel,
    data: Prepared,
    structure: np.ndarray,
    resolution: Mapping[str, Tensor] | None,
    tested: np.ndarray | None = None,
) -> np.ndarray:
    """What each part adds to the log-likelihood of its target, all else as in `structure`.

    From the full graph this is the class-level conditional mutual information of the paper.
    Targets do not share predictors, so one neighbour of the structure can turn a part of each.
    Only `tested` parts are measured, all of them by default; the others are worth 0.
    """
    columns = {c: model.part_columns(c) for c in model.predictors}
    if tested is None:
        tested = np.ones(len(structure), dtype=bool)
    parts = {c: np.flatnonzero(tested[each].any(0)) for c, each in columns.items()}
    values = np.zeros(len(structure))
    for c, scores in score_neighbours(model, data, structure, parts, resolution).items():
        gains = scores[0] - scores[1:]  # (part, target)
        at = columns[c][:, parts[c]].T
        values[at] = np.where(structure[at], gains, -gains)
    return np.where(tested, values, 0.0)


@torch.no_grad()
def score_neighbours(
    model: AbstractWorldModel,
    data: Prepared,
    structure: np.ndarray,
    parts: Mapping[str, np.ndarray],
    resolution: Mapping[str, Tensor] | None,
) -> dict[str, np.ndarray]:
    """Mean log-likelihood of each target under a structure and neighbours of it.

    For each class (1 + part, target): first the structure itself, then with each of `parts` of
    every target turned.
    """
    predict = model.around(structure, parts)
    sums: dict[str, Tensor] = {}
    counts: dict[str, Tensor] = {}
    for chunk in data.chunks(CHUNK):
        predictions = predict(chunk.inputs)
        targets = chunk.targets.repeat({c: 1 + len(each) for c, each in parts.items()})
        for c, score in predictions.log_prob(targets, resolution).items():
            each = score.unflatten(0, (1 + len(parts[c]), -1)).sum((1, 2), dtype=torch.float64)
            sums[c] = sums.get(c, 0) + each
            counts[c] = counts.get(c, 0) + chunk.targets.known[c].sum((0, 1))
    return {c: (sums[c] / counts[c].clamp(min=1)).cpu().numpy() for c in sums}
