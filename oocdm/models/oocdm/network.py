"""The network that reads the features of all parts: two hidden layers of leaky ReLU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from oocdm.models.affine import affine
from oocdm.models.initial import xavier
from oocdm.models.oocdm.encoder import LEAK
from oocdm.models.oocdm.masks import Masks

NAME = "network"  # of the path: a target may do with the linear map beside it alone


class Network(nn.Module):
    """The networks of all targets of a class; with `num_elements`, they know their structure."""

    def __init__(
        self, num_targets: int, width: int, hidden: int, outputs: int, num_elements: int
    ) -> None:
        super().__init__()
        s, h = num_targets, hidden
        self.weight1 = xavier(s, width, h, fan_in=width, fan_out=h)
        self.bias1 = nn.Parameter(torch.zeros(s, h))
        self.weight2 = xavier(s, h, h, fan_in=h, fan_out=h)
        self.bias2 = nn.Parameter(torch.zeros(s, h))
        self.weight3 = xavier(s, h, outputs, fan_in=h, fan_out=outputs)
        self.bias3 = nn.Parameter(torch.zeros(s, outputs))
        self.structure_weight = (
            nn.Parameter(torch.zeros(s, num_elements, h)) if num_elements else None
        )

    def read_more(self, width: int) -> None:
        """Read so many more features, as if they had not been there when weights were drawn."""
        s, before, h = self.weight1.shape
        more = xavier(s, width, h, fan_in=before + width, fan_out=h)
        self.weight1 = nn.Parameter(torch.cat([self.weight1.data, more.data], dim=1))

    def literal(self, i: int, features: Tensor, elements: Tensor, is_on: Tensor) -> Tensor:
        """Outputs of target i (batch, object, output); `elements` are (batch, element)."""
        hidden = features @ self.weight1[i] + self.bias1[i]
        if self.structure_weight is not None:
            hidden = hidden + (elements @ self.structure_weight[i]).unsqueeze(1)
        hidden = functional.leaky_relu(hidden, LEAK)
        hidden = functional.leaky_relu(hidden @ self.weight2[i] + self.bias2[i], LEAK)
        return (hidden @ self.weight3[i]) * is_on + self.bias3[i]

    def first(self, elements: Tensor) -> tuple[Tensor, Tensor]:
        """Its block of the first layer and the bias; `elements`: (target, structure, element)."""
        bias = self.bias1.unsqueeze(1)
        if self.structure_weight is not None:
            bias = bias + torch.bmm(elements, self.structure_weight)
        return self.weight1.unsqueeze(1), bias

    def finish(self, hidden: Tensor, masks: Masks, c: str, leading: tuple[int, int]) -> Tensor:
        """From the first layer, (target, row, hidden), to (batch, object, target, output)."""
        live = np.flatnonzero(masks.has_path(c, NAME).any(0))
        num_targets = len(self.bias3)
        index = None if len(live) == num_targets else torch.as_tensor(live, device=hidden.device)
        layers = [hidden, self.bias2.unsqueeze(1), self.weight2, self.weight3]
        if index is not None:
            layers = [layer.index_select(0, index) for layer in layers]
        out = torch.bmm(self._hidden(*layers[:3]), layers[3])
        if index is not None:
            out = out.new_zeros(num_targets, *out.shape[1:]).index_copy(0, index, out)
        out = out.unflatten(1, leading).permute(1, 2, 0, 3)
        gate = masks.gate(c, NAME)
        if gate is not None:
            out = out * masks.spread(gate, leading[0])[:, None, :, None]
        return out + self.bias3

    def of_target(self, i: int) -> Callable[[Tensor], Tensor]:
        """From the first layer of target i, (row, hidden), to (row, output)."""
        bias2, weight2, weight3, bias3 = (
            layer[i] for layer in (self.bias2, self.weight2, self.weight3, self.bias3)
        )
        return lambda hidden: torch.addmm(bias3, self._hidden(hidden, bias2, weight2), weight3)

    @staticmethod
    def _hidden(first: Tensor, bias2: Tensor, weight2: Tensor) -> Tensor:
        in_place = not torch.is_grad_enabled()
        hidden = affine(bias2, functional.leaky_relu(first, LEAK, in_place), weight2)
        return functional.leaky_relu_(hidden, LEAK)
