"""The evaluator for planning: single targets under one graph, from nothing but their parents.

Under a sparse graph most of a network has nothing to do. Here each target is a small network of
its own: its weights hold only what its parents need, linear layers in a row are one, and fields of
few values are encoded beforehand. It serves states of which everything is known, such as those
that are simulated.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from oocdm.models.head import Head
from oocdm.models.oocdm.first_layer import FirstLayer
from oocdm.models.oocdm.linear_map import NAME as LINEAR_MAP
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.network import NAME
from oocdm.models.oocdm.parts.part import Reading, Target
from oocdm.models.oocdm.predictor import ClassPredictor
from oocdm.models.oocdm.products import NAME as PRODUCTS
from oocdm.models.oocdm.view import View

# Mean and sigma, of mixtures also mean, sigma and chance of the wide part, all of them
# (batch * object, component); of choices only logits (batch * object, all values).
Outputs = tuple[Tensor, ...]


class SingleTarget:
    """The predictor of one target under one structure."""

    def __init__(
        self,
        predictor: ClassPredictor,
        v: str,
        masks: Masks,
        layer: FirstLayer,
        head: Head,
        reading: Reading,
    ) -> None:
        """`layer` is that of all targets of the class."""
        self.predictor, self.c, self.v = predictor, predictor.c, v
        self.schema, self.field = masks.schema, head.targets[v]
        i = self.i = list(head.targets).index(v)
        self.own = _chosen(self.schema.fields(self.c), masks.local(self.c)[0, :, i])
        self.others = {
            k: fields
            for k in self.schema.classes
            if (fields := _chosen(self.schema.fields(k), masks.others(k, self.c)[0, :, i]))
        }
        num_linear = head.num_linear(v)
        own_layer = layer.of_target(i).without_outputs(LINEAR_MAP, num_linear)
        is_off = {path for path in (NAME, PRODUCTS) if not masks.has_path(self.c, path)[0, i]}
        self.layer = own_layer = own_layer.only(own_layer.blocks.keys() - is_off)
        self.multiply = None
        if predictor.products is not None and PRODUCTS not in is_off:
            self.multiply = predictor.products.of_target(i, num_linear)
        target = Target(self.c, i, self.own, self.others, masks, reading)
        self.parts = []
        weights, biases_of_own = [], []
        for part, start in predictor.features():
            if part.width and masks.has_path(self.c, part.name)[0, i]:
                alone = part.alone(target, own_layer.of_features(start, part.width))
                if alone is not None:
                    self.parts.append(alone)
                    weights.append(alone.own_weight)
                    biases_of_own.append(alone.own_bias)
        self.sees_all = any(part.sees_all for part in self.parts)
        self.own_widths = [weight.shape[1] for weight in weights]
        self.project = reading.project(
            self.c, self.own, torch.cat(weights, 1), torch.cat(biases_of_own)
        )
        self.network = predictor.network.of_target(i)
        self.constant = predictor.network.bias3[i]  # all that is left of it if its path is off
        self.head = head.of_target(v, v in self.own)

    def __call__(self, view: View) -> Outputs:
        """Its distribution for every object."""
        first, *own = self.project(view).split_with_sizes(self.own_widths, 1)
        for part, rows in zip(self.parts[1:], own, strict=True):
            part.add(first, rows, view)
        pieces = self.layer.split(first)
        hidden = pieces.get(NAME)
        out = self.constant.expand(len(first), -1) if hidden is None else self.network(hidden)
        beside = pieces.get(LINEAR_MAP)
        if beside is not None and self.multiply is not None:
            beside = beside + self.multiply(pieces[PRODUCTS])
        return self.head(out, beside, view.numbers(self.c, self.v))


def _chosen(fields: Mapping[str, object], flags: Tensor) -> tuple[str, ...]:
    return tuple(f for f, flag in zip(fields, flags.tolist(), strict=True) if flag > 0)
