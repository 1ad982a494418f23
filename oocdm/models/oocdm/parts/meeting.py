"""What receivers gather of senders: filtered values, summed, and weighted means."""

from __future__ import annotations

import torch
from torch import Tensor

HEADS = 2  # of means over the senders, each weighted in its own way
HEAD_DIM = 2


def meet(
    ours: Tensor, theirs: Tensor, both: Tensor | None, counts: Tensor, second: Tensor, dim: int
) -> Tensor:
    """What receivers gather of senders: sums of filtered values, then weighted means.

    `ours` is (.., receiver, hidden), `theirs` (.., sender, hidden + value), `both` what pairs add
    to it, (.., receiver, sender, hidden + value), and `counts` (.., receiver or 1, sender).
    """
    hidden_dim = ours.shape[-1]
    hidden, values = theirs.unsqueeze(-3).split([hidden_dim, theirs.shape[-1] - hidden_dim], dim=-1)
    hidden = ours.unsqueeze(-2) + hidden
    if both is not None:
        hidden = hidden + both[..., :hidden_dim]
        values = values + both[..., hidden_dim:]
    filters, scores = (hidden.relu() @ second).split([dim, HEADS], dim=-1)
    filters = filters.tanh()
    is_absent = None if bool(counts.all()) else ~counts.unsqueeze(-1)
    if is_absent is not None:
        filters = filters.masked_fill(is_absent, 0.0)
        # The lowest number instead of -inf: without any sender there is 0, not NaN.
        scores = scores.masked_fill(is_absent, torch.finfo(scores.dtype).min)
    summed = (filters * values[..., :dim]).sum(-2)
    weights = scores.softmax(-2)
    if is_absent is not None:
        weights = weights.masked_fill(is_absent, 0.0)
    each = values[..., dim:].unflatten(-1, (HEADS, HEAD_DIM))
    means = (weights.unsqueeze(-1) * each).sum(-3).flatten(-2)
    return torch.cat([summed, means], dim=-1)
