"""The evaluator for discovery: the same samples under a structure and under its neighbours.

All of it costs a few passes, see `turns.py`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from oocdm.models.head import Head
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.parts.part import (
    AbstractGathered,
    AbstractLinear,
    GatherNeighbours,
    Seen,
    gather_neighbours_received,
)
from oocdm.models.oocdm.predictor import ClassPredictor
from oocdm.models.oocdm.turns import Turns, repeat
from oocdm.models.prediction import ClassPrediction


class WithNeighbours:
    """The predictors of one class under a structure and some of its neighbours.

    Structures come first in the batch: all samples under the structure itself, then all samples
    under its first neighbour, and so on.
    """

    def __init__(self, predictor: ClassPredictor, masks: Masks, elements: np.ndarray) -> None:
        self.predictor, self.c, self.masks = predictor, predictor.c, masks
        layer, turns = predictor.first_layer(masks), Turns(predictor.c, masks, elements)
        self.layer = layer
        self.linear: list[tuple[AbstractLinear, Tensor]] = []
        self.gathered: list[tuple[AbstractGathered, GatherNeighbours, Tensor]] = []
        bias = layer.bias()
        for part, start in predictor.features():
            if not part.width:
                continue
            columns = layer.of_features(start, part.width)
            gate = masks.path(self.c, part.name).T[..., None, None]  # (target, structure, 1, 1)
            if isinstance(part, AbstractLinear):
                weight, own_bias = part.weigh(columns, masks)
                bias = bias if own_bias is None else own_bias
                weight = weight.unflatten(2, (predictor.num_targets, -1)).permute(2, 0, 1, 3)
                self.linear.append((part, (weight * gate).flatten(0, 1)))
            elif isinstance(part, AbstractGathered) and masks.has_path(self.c, part.name).any():
                weight = (columns.weight() * gate).flatten(0, 1)
                self.gathered.append((part, part.compose_neighbours(turns), weight))
        self.bias = bias.expand(-1, len(masks), -1).flatten(0, 1).unsqueeze(1)

    def __call__(self, seen: Seen, head: Head) -> ClassPrediction:
        """Distributions of all targets of the class: (structure * batch, object, ..)."""
        inputs, num = seen.inputs, len(self.masks)
        values = inputs.received(self.c, inputs.values[self.c])
        known = inputs.received(self.c, inputs.known[self.c])
        batch, objects = known.shape[:2]
        first = self.bias
        for linear_part, weight in self.linear:
            rows = inputs.received(self.c, linear_part.rows(seen.for_all()))
            first = torch.baddbmm(first, repeat(rows, len(weight)), weight)
        if objects and any(codes.shape[1] for codes in seen.encoded.values()):
            for part, gather, weight in self.gathered:
                found = gather_neighbours_received(part, gather, seen)
                first.baddbmm_(found.reshape(len(weight), batch * objects, found.shape[-1]), weight)
        first = first.view(self.predictor.num_targets, num * batch * objects, first.shape[2])
        out, linear = self.predictor.finish(first, self.layer, self.masks, (num * batch, objects))
        has_self = self.masks.spread(self.masks.self_edges(self.c), len(out)).unsqueeze(1)
        values, known = values.repeat(num, 1, 1, 1), known.repeat(num, 1, 1)
        return head(out, linear, values, known, has_self)
