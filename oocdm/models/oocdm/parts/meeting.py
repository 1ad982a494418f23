"""What receivers gather of senders: filtered values, summed, and weighted means."""

from __future__ import annotations

import torch
from torch import Tensor

from oocdm.models.affine import affine

HEADS = 2  # of means over the senders, each weighted in its own way
HEAD_DIM = 2


def read_pair(hidden: Tensor, middle: tuple[Tensor, Tensor], last: Tensor) -> tuple[Tensor, Tensor]:
    """Filters, and scores of means, from the first hidden layer before it is bent.

    `hidden` is (.., hidden) for weights (hidden, out), or (entry, .., hidden) if every entry has
    its own: (entry, hidden, out).
    """
    weight, bias = middle
    # One product an entry, whatever the batch, the receivers and the senders.
    rows = hidden.relu_().flatten(weight.ndim - 2, -2)
    found = affine(bias.unsqueeze(-2), rows, weight).relu_() @ last
    filters, scores = found.split([last.shape[-1] - HEADS, HEADS], dim=-1)
    shape = hidden.shape[weight.ndim - 2 : -1]
    return tuple(t.unflatten(-2, shape) for t in (filters.tanh(), scores))


def meet(
    ours: Tensor,
    theirs: Tensor,
    both: Tensor | None,
    counts: Tensor,
    middle: tuple[Tensor, Tensor],
    last: Tensor,
    openness: Tensor | None = None,
) -> Tensor:
    """What receivers gather of senders: sums of filtered values, then weighted means.

    `ours` is (.., receiver, hidden), `theirs` (.., sender, hidden + value), `both` what pairs add
    to it, (.., receiver, sender, hidden + value), and `counts` (.., receiver or 1, sender).
    `middle` are the weight and bias between the two hidden layers, `last` what reads the second.
    `openness` is the logarithm of how open receivers are to senders, (.., receiver, sender).
    """
    hidden_dim = ours.shape[-1]
    hidden, values = theirs.unsqueeze(-3).split([hidden_dim, theirs.shape[-1] - hidden_dim], dim=-1)
    hidden = ours.unsqueeze(-2) + hidden
    if both is not None:
        hidden = hidden + both[..., :hidden_dim]
        values = values + both[..., hidden_dim:]
    filters, scores = read_pair(hidden, middle, last)
    dim = filters.shape[-1]
    if openness is not None:
        openness = openness.unsqueeze(-1)
        filters, scores = filters * openness.exp(), scores + openness
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
