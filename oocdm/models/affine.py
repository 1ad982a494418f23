"""A linear layer with its bias, single or stacked."""

from __future__ import annotations

import torch
from torch import Tensor


def affine(bias: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """x @ weight + bias for matrices, or for equally many of each in a stack.

    >>> affine(torch.ones(2), torch.ones(1, 3), torch.ones(3, 2))
    tensor([[4., 4.]])
    """
    return torch.addmm(bias, x, weight) if x.ndim == 2 else torch.baddbmm(bias, x, weight)
