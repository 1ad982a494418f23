"""Products beside the network: what is bilinear goes on as that elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from oocdm.models.initial import xavier
from oocdm.models.oocdm.masks import Masks

SMALL = 0.1
LIMIT = 30.0  # of one factor: else what multiplies itself in a rollout leaves all numbers

NAME = "products"  # of the path: most targets are no products of anything


class Products(nn.Module):
    """Products of two linear maps of all features, for the means and choices of all targets.

    A value times a value, a category times a value, one's own times what was gathered from
    others: each is a product of two features that a network follows only where it has seen it.
    """

    def __init__(self, num_targets: int, width: int, rank: int, outputs: int) -> None:
        super().__init__()
        s, self.rank = num_targets, rank
        self.weight = xavier(s, width, 2 * rank, fan_in=width, fan_out=rank)
        # Small, since products are large where features are; not 0, so that factors can be learned.
        second = xavier(s, rank, outputs, fan_in=width, fan_out=outputs)
        self.second = nn.Parameter(SMALL * second.data)

    def literal(self, i: int, features: Tensor, is_on: Tensor) -> Tensor:
        """Outputs of target i, (batch, object, output)."""
        left, right = (features @ self.weight[i]).split(self.rank, dim=-1)
        return ((left.clamp(-LIMIT, LIMIT) * right) @ self.second[i]) * is_on

    def first(self) -> tuple[Tensor, Tensor]:
        """Its block of the first layer, and no bias."""
        weight = self.weight.unsqueeze(1)
        return weight, weight.new_zeros(len(weight), 1, weight.shape[3])

    def finish(self, factors: Tensor, masks: Masks, c: str, leading: tuple[int, int]) -> Tensor:
        """From the first layer, (target, row, factor), to (batch, object, target, output)."""
        left, right = factors.split(self.rank, dim=-1)
        out = (
            torch.bmm(left.clamp(-LIMIT, LIMIT) * right, self.second)
            .unflatten(1, leading)
            .permute(1, 2, 0, 3)
        )
        gate = masks.gate(c, NAME)
        return out if gate is None else out * masks.spread(gate, leading[0])[:, None, :, None]

    def of_target(self, i: int, num_outputs: int) -> Callable[[Tensor], Tensor]:
        """From the first layer of target i, (row, factor), to (row, output)."""
        second, rank = self.second[i, :, :num_outputs], self.rank
        return lambda factors: (factors[:, :rank].clamp(-LIMIT, LIMIT) * factors[:, rank:]) @ second
