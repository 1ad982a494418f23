"""Which structures and targets a part computes something for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

LARGEST = 2**21  # numbers of a hidden layer at once, where no gradients need them all


@dataclass(frozen=True)
class Entries:
    """The pairs of a structure and a target that are computed, of all there are.

    `groups` are the parts of the batch, one for each structure, or one that all structures share.
    """

    structures: Tensor
    targets: Tensor
    groups: int

    @property
    def rows(self) -> Tensor:
        """Which part of the batch each entry reads."""
        return self.structures if self.groups > 1 else torch.zeros_like(self.structures)

    def of(self, weight: Tensor) -> Tensor:
        """The targets' parts of a weight (input, target, out): (entry, input, out)."""
        return weight.transpose(0, 1).index_select(0, self.targets)

    def masked(self, weight: Tensor, mask: Tensor, num_free: int = 0) -> Tensor:
        """The same without what structures forbid: `mask` is (structure, field, target).

        After the fields come `num_free` inputs that are none, and always there.
        """
        flags = mask[self.structures, :, self.targets]  # (entry, field)
        channels = (weight.shape[0] - num_free) // max(flags.shape[1], 1)
        flags = flags.repeat_interleave(channels, 1)
        if num_free:
            flags = functional.pad(flags, (0, num_free), value=1.0)
        return self.of(weight) * flags.unsqueeze(2)

    def read(self, rows: Tensor) -> Tensor:
        """Rows (batch, ..) as the entries read them: (entry, part of the batch, ..)."""
        return rows.unflatten(0, (self.groups, -1)).index_select(0, self.rows)

    def of_pairs(self, openness: Tensor) -> Tensor:
        """Gates (1 or batch, receiver, sender, target) of the entries: (entry, 1 or part, ..)."""
        if len(openness) == 1:
            return openness.permute(3, 0, 1, 2).index_select(0, self.targets)
        rows = self.read(openness)
        return rows[torch.arange(len(rows), device=rows.device), :, :, :, self.targets]

    def split(self, numbers: int) -> Sequence[slice]:
        """Some entries after the other, where each takes so many numbers and no gradient."""
        total = len(self.targets)
        at_once = total if torch.is_grad_enabled() else max(LARGEST // max(numbers, 1), 1)
        return [slice(i, i + at_once) for i in range(0, total, max(at_once, 1))]
