"""The linear map beside the network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

NAME = "linear map"  # of its block of the first layer; it is no path


class LinearMap(nn.Module):
    """A linear map beside the network, for the means: what is a sum goes on as one elsewhere.

    With `num_elements` there is one map, and for each element of a structure what it adds.
    """

    def __init__(self, num_targets: int, width: int, outputs: int, num_elements: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(num_targets, 1 + num_elements, width, outputs))

    def literal(self, i: int, features: Tensor, elements: Tensor) -> Tensor:
        """Outputs of target i (batch, object, output); `elements` are (batch, element)."""
        weight = self.weight[i, 0]
        if self.weight.shape[1] > 1:
            added = elements @ self.weight[i, 1:].flatten(1)
            weight = weight + added.unflatten(1, weight.shape)
        return features @ weight

    def first(self, elements: Tensor) -> tuple[Tensor, Tensor]:
        """Its block of the first layer and the bias; `elements`: (target, structure, element)."""
        maps = self.weight[:, :1]
        if self.weight.shape[1] > 1:
            added = torch.bmm(elements, self.weight[:, 1:].flatten(2))
            maps = maps + added.unflatten(2, maps.shape[2:])
        return maps, maps.new_zeros(len(maps), 1, maps.shape[3])
