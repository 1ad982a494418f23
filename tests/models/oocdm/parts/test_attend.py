"""Attention against its formula."""

from __future__ import annotations

import math

import pytest
import torch

from oocdm.models.oocdm.parts.attend import attend, closed

HEADS, CHANNELS, TARGETS, SOURCES = 2, 3, 4, 5


def by_hand(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, is_open: torch.Tensor
) -> torch.Tensor:
    """All (batch, object or source, target, dim); `is_open` (batch, object, source, target)."""
    q, k, v = (t.unflatten(-1, (HEADS, CHANNELS)) for t in (query, keys, values))
    scores = torch.einsum("bothc,bsthc->bosth", q, k) / math.sqrt(HEADS * CHANNELS)
    weights = scores.exp() * is_open.unsqueeze(-1)
    weights = weights / weights.sum(2, keepdim=True).clamp(min=1e-300)
    return torch.einsum("bosth,bsthc->bothc", weights, v).flatten(-2)


@pytest.mark.parametrize("batch", [1, 6])
@pytest.mark.parametrize("objects", [1, 3])
@pytest.mark.parametrize("are_same", [False, True], ids=["own sources", "same sources"])
@pytest.mark.parametrize("full", ["objects", "shared"])
def test_every_way_is_the_formula(batch: int, objects: int, are_same: bool, full: str) -> None:
    """Also for objects without any open source, which get zero."""
    torch.manual_seed(0)
    width, n = HEADS * CHANNELS, 1 if are_same else batch
    query = torch.randn(batch, objects, TARGETS, width).double().requires_grad_()
    keys, values = (torch.randn(n, SOURCES, TARGETS, width).double() for _ in range(2))
    shape = (batch, objects, SOURCES, TARGETS) if full == "objects" else (1, 1, SOURCES, 1)
    is_open = torch.rand(shape) < 0.5
    is_open[0, 0, :, 0] = False
    found = attend(query, keys, values, closed(is_open, torch.float64), HEADS)
    sources = (t.expand(batch, -1, -1, -1) for t in (keys, values))
    every = is_open.expand(batch, objects, SOURCES, TARGETS)
    torch.testing.assert_close(found, by_hand(query, *sources, every))
    assert not found[0, 0, 0].any()
    found.sum().backward()
    assert query.grad is not None and query.grad.isfinite().all()


def test_a_shift_counts_a_source_more_than_once() -> None:
    """A source whose score is raised by log 3 weighs as three of its kind."""
    torch.manual_seed(0)
    query, keys, values = (torch.randn(1, n, 1, 6).double() for n in (2, 2, 2))
    shift = torch.zeros(1, 1, 2, 1).double()
    shift[0, 0, 1] = math.log(3)
    found = attend(query, keys, values, shift, HEADS)
    rows = [0, 1, 1, 1]
    thrice = attend(query, keys[:, rows], values[:, rows], torch.zeros(1, 1, 4, 1).double(), HEADS)
    torch.testing.assert_close(found, thrice)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_closed_has_no_weight_at_all(dtype: torch.dtype) -> None:
    shift = closed(torch.tensor([True, False]), dtype)
    assert shift.dtype == dtype and shift[0] == 0 and shift.isfinite().all()
    assert (shift + 1e4).exp()[1] == 0
