"""The evaluator for training: many structures at once, with gradients.

An encoding that the graph masks off is zero and the layer after it is linear, so masking the
*weights* gives the same as masking the activations. One product then serves all targets of a
class, and many structures at once cost one batched product. What no structure uses is left out.
All this depends on weights and structures alone: while they stay, it is made once.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from oocdm.models.head import Head
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.parts.part import (
    AbstractGathered,
    AbstractLinear,
    Gather,
    Seen,
    gather_received,
)
from oocdm.models.oocdm.predictor import ClassPredictor
from oocdm.models.prediction import ClassPrediction


@dataclass(frozen=True)
class Gathered:
    """A part that gathers, composed: how, and the first layer of its features."""

    part: AbstractGathered
    gather: Gather
    weight: Tensor  # (target, structure or 1, feature, out)
    gate: Tensor | None  # (structure, target): which targets use the part; None if all do


class Batched:
    """The predictors of one class under some structures."""

    def __init__(self, predictor: ClassPredictor, masks: Masks) -> None:
        self.predictor, self.c, self.masks = predictor, predictor.c, masks
        layer = predictor.first_layer(masks)
        self.layer = layer
        self.linear: list[tuple[AbstractLinear, Tensor]] = []
        self.gathered: list[Gathered] = []
        bias = layer.bias()
        for part, start in predictor.features():
            columns, gate = layer.of_features(start, part.width), masks.gate(self.c, part.name)
            if isinstance(part, AbstractLinear) and part.width:
                weight, own_bias = part.weigh(columns, masks)
                bias = bias if own_bias is None else own_bias
                self.linear.append((part, self._gated(weight, gate)))
            elif isinstance(part, AbstractGathered):
                gather = part.compose(masks)
                if gather is not None:
                    self.gathered.append(Gathered(part, gather, columns.weight(), gate))
        self.bias = bias.transpose(0, 1).flatten(1).unsqueeze(1)  # (structure or 1, 1, t * out)

    def _gated(self, weight: Tensor, gate: Tensor | None) -> Tensor:
        """A weight (structure, input, target * out) without the targets that do without it."""
        if gate is None:
            return weight
        by_target = weight.unflatten(2, (self.predictor.num_targets, -1))
        return (by_target * gate[:, None, :, None]).flatten(2)

    def __call__(self, seen: Seen, head: Head) -> ClassPrediction:
        """Distributions of all targets of the class, of the objects that are predicted."""
        values = seen.inputs.received(self.c, seen.inputs.values[self.c])
        known = seen.inputs.received(self.c, seen.inputs.known[self.c])
        first = self._first(seen)
        for part in self.gathered:
            found = gather_received(part.part, part.gather, seen)
            if found is not None:
                if part.gate is not None:
                    gate = self.masks.spread(part.gate, len(found))
                    found = found * gate[:, None, :, None]
                first = self._add(first, found, part.weight)
        out, linear = self.predictor.finish(
            first.transpose(0, 1), self.layer, self.masks, (known.shape[0], known.shape[1])
        )
        has_self = self.masks.spread(self.masks.self_edges(self.c), len(out)).unsqueeze(1)
        return head(out, linear, values, known, has_self)

    def _first(self, seen: Seen) -> Tensor:
        """All that needs no other object's encoding: (batch * object, target, out)."""
        num, first = len(self.masks), self.bias
        for part, weight in self.linear:
            rows = seen.inputs.received(self.c, part.rows(seen.for_all()))
            first = torch.baddbmm(first, rows.reshape(num, -1, rows.shape[2]), weight)
        return first.view(-1, self.predictor.num_targets, sum(self.layer.widths.values()))

    def _add(self, first: Tensor, gathered: Tensor, weight: Tensor) -> Tensor:
        """The first layer with what others send: (batch * object, target, out)."""
        groups, width, targets = weight.shape[1], gathered.shape[3], self.predictor.num_targets
        each, base = (
            t.reshape(groups, -1, targets, t.shape[-1]).permute(2, 0, 1, 3).flatten(0, 1)
            for t in (gathered, first)
        )
        total = torch.baddbmm(base, each, weight.reshape(-1, width, weight.shape[3]))
        return total.view(targets, -1, weight.shape[3]).transpose(0, 1)
