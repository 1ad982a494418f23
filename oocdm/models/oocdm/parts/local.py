"""The object's own fields, through one linear layer."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from oocdm.models.initial import xavier
from oocdm.models.oocdm.first_layer import FirstLayer
from oocdm.models.oocdm.masks import Masks, masked
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts.part import (
    AbstractLinear,
    Alone,
    Place,
    Seen,
    SeenByTarget,
    Target,
)


class Local(AbstractLinear):
    """The target object's own encoding."""

    name: ClassVar[str] = "local"
    is_path: ClassVar[bool] = False

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        width, dim = place.widths[place.class_name], place.options.local_dim
        self.width = dim
        self.weight = xavier(width, place.num_targets, dim, fan_in=width, fan_out=dim)
        self.bias = nn.Parameter(torch.zeros(place.num_targets, dim))

    @classmethod
    def is_used(cls, options: ModelOptions) -> bool:
        return True

    def shared_input_weights(self) -> list[nn.Parameter]:
        return [self.weight]

    def literal(self, i: int, seen: SeenByTarget) -> Tensor:
        return seen.own @ self.weight[:, i] + self.bias[i]

    def alone(self, target: Target, layer: FirstLayer) -> Alone | None:
        i = slice(target.i, target.i + 1)
        composed = layer.after(self.weight[:, i].transpose(0, 1), self.bias[i])
        # The first layer is made of it: there is nothing to add.
        return Alone(composed.weight()[0, 0], composed.bias()[0, 0], lambda first, own, view: None)

    def rows(self, seen: Seen) -> Tensor:
        return seen.encoded[self.c]

    def weigh(self, layer: FirstLayer, masks: Masks) -> tuple[Tensor, Tensor | None]:
        composed = layer.after(self.weight.transpose(0, 1), self.bias)
        weight = composed.weight().permute(1, 2, 0, 3)
        return masked(weight, masks.local(self.c), self.num_free), composed.bias()
