"""Key-value attention of target objects over other objects, for many targets at once."""

from __future__ import annotations

import torch
from torch import Tensor


def closed(is_open: Tensor, dtype: torch.dtype) -> Tensor:
    """What to add to a score: 0, or so little that the exponential is exactly 0.

    A huge negative number instead of -inf: a row without any source stays finite.
    """
    return torch.zeros(is_open.shape, dtype=dtype, device=is_open.device).masked_fill_(
        ~is_open, torch.finfo(dtype).min / 2
    )


def attend(query: Tensor, keys: Tensor, values: Tensor, shift: Tensor, heads: int) -> Tensor:
    """Attended values (batch, object, target, dim); zero where every source is shut out.

    `query` is (batch, object, target, dim), `keys` and `values` are (batch or 1, source,
    target, dim), and `shift` (batch or 1, object or 1, source, target or 1) is added to the
    scores.
    """
    scale = query.shape[-1] ** -0.5
    split = (heads, -1)
    q, k, v = (t.unflatten(-1, split) for t in (query * scale, keys, values))
    if len(keys) == 1 and len(query) > 1:
        attended = _attend_same(q, k, v, shift)
    elif query.shape[1] == 1:
        attended = _attend_elementwise(q, k, v, shift)
    else:
        attended = _attend_by_products(q, k, v, shift)
    has_source = shift.amax(2, keepdim=False) > torch.finfo(shift.dtype).min / 4
    if not has_source.all():
        attended = attended * has_source.unsqueeze(-1)
    return attended


def _attend_elementwise(q: Tensor, k: Tensor, v: Tensor, shift: Tensor) -> Tensor:
    """For a single target object: products of vectors vectorise better than tiny matrices."""
    scores = (q.unsqueeze(2) * k.unsqueeze(1)).sum(-1) + shift.unsqueeze(-1)
    weights, total = _exponentials(scores, 2)
    return (
        (weights.unsqueeze(-1) * v.unsqueeze(1)).sum(2) / total.squeeze(2).unsqueeze(-1)
    ).flatten(-2)


def _attend_same(q: Tensor, k: Tensor, v: Tensor, shift: Tensor) -> Tensor:
    """For sources that are the same in all samples: samples and objects side by side."""
    batch, objects, targets, heads, channels = q.shape
    rows = q.permute(2, 3, 0, 1, 4).reshape(targets * heads, batch * objects, channels)
    sources = k.shape[1]
    keys = k[0].permute(1, 2, 3, 0).reshape(targets * heads, channels, sources)
    values = v[0].permute(1, 2, 0, 3).reshape(targets * heads, sources, channels)
    shift = shift.expand(batch, objects, -1, targets).permute(3, 0, 1, 2)
    shift = shift.reshape(targets, 1, batch * objects, sources)
    scores = torch.bmm(rows, keys).unflatten(0, (targets, heads)) + shift
    weights, total = _exponentials(scores, -1)
    attended = torch.bmm((weights / total).flatten(0, 1), values)
    attended = attended.view(targets, heads, batch, objects, channels)
    return attended.permute(2, 3, 0, 1, 4).flatten(-2)


def _attend_by_products(q: Tensor, k: Tensor, v: Tensor, shift: Tensor) -> Tensor:
    # (batch, object, target, head, channel) -> (batch, target, head, object, channel)
    q, k, v = (t.permute(0, 2, 3, 1, 4) for t in (q, k, v))
    scores = q @ k.transpose(-1, -2) + shift.permute(0, 3, 1, 2).unsqueeze(2)
    weights, total = _exponentials(scores, -1)
    attended = weights @ v / total
    return attended.permute(0, 3, 1, 2, 4).flatten(-2)


def _exponentials(scores: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Softmax before its division, and the divisor: torch's is slow for a handful of sources."""
    weights = (scores - scores.detach().amax(axis, keepdim=True)).exp()
    return weights, weights.sum(axis, keepdim=True)
