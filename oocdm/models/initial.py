"""Weights before training."""

from __future__ import annotations

import torch
from torch import nn


def xavier(*shape: int, fan_in: int, fan_out: int) -> nn.Parameter:
    """A Xavier-normal weight, whatever the layout of its axes.

    >>> xavier(3, 2, 5, fan_in=2, fan_out=5).shape
    torch.Size([3, 2, 5])
    """
    return nn.Parameter(torch.randn(*shape) * (2.0 / (fan_in + fan_out)) ** 0.5)
