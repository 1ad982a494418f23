"""The linear layer that everything which reads features begins with, side by side in one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class FirstLayer:
    """The first layers of a network and of the linear map beside it, a block each.

    `blocks` are (target, structure or 1, feature, out), `biases` (target, structure or 1, out).
    Blocks that are the same under all structures are kept once as long as possible.
    """

    blocks: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]

    @property
    def widths(self) -> list[int]:
        """Outputs of each block."""
        return [block.shape[3] for block in self.blocks]

    def of_features(self, start: int, width: int) -> FirstLayer:
        """The layer for some of the features."""
        return FirstLayer(tuple(b[:, :, start : start + width] for b in self.blocks), self.biases)

    def of_target(self, i: int) -> FirstLayer:
        """The layer of one target."""
        one = slice(i, i + 1)
        return FirstLayer(tuple(b[one] for b in self.blocks), tuple(b[one] for b in self.biases))

    def without_outputs(self, num_linear: int) -> FirstLayer:
        """The layer with no more than so many outputs of the linear map, if there is one."""
        (network, *maps), (bias, *zeros) = self.blocks, self.biases
        return FirstLayer(
            (network, *(block[..., :num_linear] for block in maps)),
            (bias, *(zero[..., :num_linear] for zero in zeros)),
        )

    def weight(self) -> Tensor:
        """All blocks side by side: (target, structure or 1, feature, out)."""
        return _side_by_side(self.blocks)

    def bias(self) -> Tensor:
        """All biases side by side: (target, structure or 1, out)."""
        return _side_by_side(self.biases)

    def after(self, weight: Tensor, bias: Tensor) -> FirstLayer:
        """The layer with another linear one before it: (target, input, feature), (target, feature).

        Two linear layers in a row are one.
        """
        both = torch.cat([weight, bias.unsqueeze(1)], dim=1)
        blocks, biases = [], []
        for block, own in zip(self.blocks, self.biases, strict=True):
            num = block.shape[1]
            composed = torch.bmm(
                both, block.transpose(1, 2).flatten(2)
            )  # (target, in + 1, s * out)
            composed = composed.unflatten(2, (num, -1)).transpose(1, 2)
            blocks.append(composed[:, :, :-1])
            biases.append(own + composed[:, :, -1])
        return FirstLayer(tuple(blocks), tuple(biases))


def _side_by_side(tensors: tuple[Tensor, ...]) -> Tensor:
    if len(tensors) == 1:
        return tensors[0]
    num = max(t.shape[1] for t in tensors)
    return torch.cat([t.expand(-1, num, *t.shape[2:]) for t in tensors], dim=-1)
