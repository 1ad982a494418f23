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

CHUNK = 512  # transitions scored at once: small enough to stay in the processor's caches


class StructureParts:
    """The columns of a structure, by target: its incoming edges, then its paths.

    Targets do not share predictors, so one structure can drop a different part of each target:
    as many structures as one target has parts score all parts of all targets.
    """

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

    def toggled(self, structure: np.ndarray, edges_only: bool = False) -> np.ndarray:
        """Structures in which the i-th part of every target is the other way round."""
        columns = [c[: -len(PATHS)] if edges_only else c for c in self.columns]
        rows = np.repeat(structure[None], max(len(c) for c in columns), axis=0)
        for target in columns:
            i = np.arange(len(target))
            rows[i, target] = ~rows[i, target]
        return rows


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
def score_structures(
    model: AbstractWorldModel,
    data: Prepared,
    structures: np.ndarray,
    resolution: Mapping[str, Tensor] | None,
) -> np.ndarray:
    """Mean log-likelihood of each target under each structure: (structure, target)."""
    rows = torch.as_tensor(structures, dtype=model.dtype, device=model.device)
    sums = torch.zeros(len(rows), model.num_targets, dtype=torch.float64, device=model.device)
    counts = torch.zeros(model.num_targets, dtype=torch.float64, device=model.device)
    for chunk in data.chunks(CHUNK):
        targets = chunk.targets.map(lambda t: t.repeat(len(rows), *[1] * (t.ndim - 1)))
        scores = model.decode_variants(chunk.inputs, rows).log_prob(targets, resolution)
        each = [score.unflatten(0, (len(rows), -1)).sum((1, 2)) for score in scores.values()]
        sums += torch.cat(each, dim=1)
        counts += torch.cat([chunk.targets.known[c].sum((0, 1)) for c in scores])
    return (sums / counts.clamp(min=1)).cpu().numpy()


def part_values(
    model: AbstractWorldModel,
    data: Prepared,
    structure: np.ndarray,
    resolution: Mapping[str, Tensor] | None,
    edges_only: bool = False,
) -> np.ndarray:
    """What each part adds to the log-likelihood of its target, all else as in `structure`.

    From the full graph this is the class-level conditional mutual information of the paper.
    """
    parts = StructureParts(model.schema)
    toggled = parts.toggled(structure, edges_only)
    scores = score_structures(model, data, np.concatenate([structure[None], toggled]), resolution)
    values = np.zeros(parts.width)
    for j, target in enumerate(parts.columns):
        columns = target[: -len(PATHS)] if edges_only else target
        loss = scores[0, j] - scores[1 : 1 + len(columns), j]
        values[columns] = np.where(structure[columns], loss, -loss)
    return values
