"""The linear layer that everything which reads features begins with, side by side in one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class FirstLayer:
    """The first layers of a network and of what stands beside it, a block each, by name.

    `blocks` are (target, structure or 1, feature, out), `biases` (target, structure or 1, out).
    Blocks that are the same under all structures are kept once as long as possible.
    """

    blocks: Mapping[str, Tensor]
    biases: Mapping[str, Tensor]

    @property
    def widths(self) -> dict[str, int]:
        """Outputs of each block."""
        return {name: block.shape[3] for name, block in self.blocks.items()}

    def split(self, outputs: Tensor) -> dict[str, Tensor]:
        """What the layer gave, (.., out), by block."""
        pieces = outputs.split_with_sizes(list(self.widths.values()), -1)
        return dict(zip(self.blocks, pieces, strict=True))

    def only(self, names: Iterable[str]) -> FirstLayer:
        """Some of the blocks."""
        chosen = [name for name in self.blocks if name in set(names)]
        return FirstLayer(*({n: t[n] for n in chosen} for t in (self.blocks, self.biases)))

    def of_features(self, start: int, width: int) -> FirstLayer:
        """The layer for some of the features."""
        columns = slice(start, start + width)
        return FirstLayer({n: b[:, :, columns] for n, b in self.blocks.items()}, self.biases)

    def of_target(self, i: int) -> FirstLayer:
        """The layer of one target."""
        one = slice(i, i + 1)
        return FirstLayer(
            *({n: b[one] for n, b in each.items()} for each in (self.blocks, self.biases))
        )

    def without_outputs(self, name: str, num: int) -> FirstLayer:
        """The layer with no more than so many outputs of one block, if it has that."""

        def cut(each: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {n: b[..., :num] if n == name else b for n, b in each.items()}

        return FirstLayer(cut(self.blocks), cut(self.biases))

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
        blocks, biases = {}, {}
        for name, block in self.blocks.items():
            num = block.shape[1]
            composed = torch.bmm(
                both, block.transpose(1, 2).flatten(2)
            )  # (target, in + 1, s * out)
            composed = composed.unflatten(2, (num, -1)).transpose(1, 2)
            blocks[name] = composed[:, :, :-1]
            biases[name] = self.biases[name] + composed[:, :, -1]
        return FirstLayer(blocks, biases)


def _side_by_side(by_name: Mapping[str, Tensor]) -> Tensor:
    tensors = list(by_name.values())
    if len(tensors) == 1:
        return tensors[0]
    num = max(t.shape[1] for t in tensors)
    return torch.cat([t.expand(-1, num, *t.shape[2:]) for t in tensors], dim=-1)
