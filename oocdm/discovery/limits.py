"""What useless edges may add: a target that is still being learned gains by any input it is given.

An input that is no cause can help a network to approximate what it has not learned yet. How much
is not the same for all targets: where chance is large there is nothing to approximate, and a field
without noise may gain for long. But it goes with what learning itself still gains: in generated
worlds needless edges added less than 0.003 nats where the score of their target no longer rose, and
hardly ever more than it had risen by since the last look. A score that fell says as much: by as
much as scores go up and down from look to look an edge may gain by luck.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from oocdm.discovery.gains import CHUNK, EXTREME
from oocdm.graph import Structure
from oocdm.models.prepared import Prepared
from oocdm.models.world_model import AbstractWorldModel

TIMES = 2.0  # what useless edges may add, in units of what the score of their target moved by
SEEN = 4096  # transitions that it is measured on, at most


@torch.no_grad()
def limits_of(
    now: AbstractWorldModel,
    before: AbstractWorldModel,
    data: Prepared,
    structure: Structure,
    resolution: Mapping[str, Tensor] | None,
) -> np.ndarray:
    """Nats that a useless edge may add: one number for each possible edge.

    `before` is the model as it was at the last look. Both are scored under the same structure, on
    held-out transitions, so that only what was learned in between makes a difference.
    """
    layout = structure.layout
    found, counts = np.zeros(len(layout.by_target)), np.zeros(len(layout.by_target))
    both = [(model, model.structures(structure)) for model in (now, before)]

    largest = now.structures(now.largest())

    def scores(some: Prepared) -> list[Mapping[str, Tensor]]:
        return [
            model(some.inputs, rows)[0].log_prob(some.targets, resolution) for model, rows in both
        ]

    def heaviest(some: Prepared) -> object:
        return [model(some.inputs, largest)[0].log_prob(some.targets) for model in (now, before)]

    for chunk in data.rows(slice(0, SEEN)).chunks(CHUNK, heaviest, "two models"):
        ours, theirs = scores(chunk)
        rises: list[np.ndarray] = []
        known: list[np.ndarray] = []
        for c in ours:
            is_known = chunk.targets.known[c]
            rise = torch.where(is_known, ours[c] - theirs[c], 0.0).double()
            # What is impossible to both tells nothing.
            rise = rise.nan_to_num(nan=0.0, posinf=EXTREME, neginf=-EXTREME)
            rises.append(rise.sum((0, 1)).cpu().numpy())
            known.append(is_known.sum((0, 1)).cpu().numpy())
        found += np.concatenate(rises)
        counts += np.concatenate(known)
    mean = np.abs(np.nan_to_num(found / np.maximum(counts, 1)))
    limits = np.zeros(layout.num_edges)
    for columns, most in zip(layout.by_target, TIMES * mean, strict=True):
        limits[columns[layout.is_edge[columns]]] = most
    return limits
