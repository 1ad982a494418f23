"""What receivers gather of senders."""

from __future__ import annotations

import math

import pytest
import torch

from oocdm.models.oocdm.parts.meeting import HEAD_DIM, HEADS, meet


def test_filters_times_values_are_summed_and_means_are_weighted() -> None:
    """Two senders, one hidden unit, by hand."""
    dim, width = 1, 1 + HEADS * HEAD_DIM
    ours = torch.tensor([[1.0]])  # (receiver, hidden)
    theirs = torch.zeros(2, 1 + width)
    theirs[:, 0], theirs[:, 1] = torch.tensor([1.0, -3.0]), torch.tensor([10.0, 100.0])
    theirs[:, 2] = torch.tensor([4.0, 8.0])  # the first value of the first mean
    middle = torch.ones(1, 1), torch.zeros(1)
    last = torch.zeros(1, dim + HEADS)
    last[0, 0] = 0.5
    # Hidden units are 2 and 0: the second sender is filtered out, both weigh alike in means.
    both_count = torch.ones(1, 2, dtype=torch.bool)
    found = meet(ours, theirs, None, both_count, middle, last)[0]
    assert found.tolist() == [pytest.approx(10 * math.tanh(1.0)), 6.0, 0.0, 0.0, 0.0]
    last[0, dim] = 100.0  # now the first one alone weighs
    found = meet(ours, theirs, None, both_count, middle, last)[0]
    assert found.tolist() == [pytest.approx(10 * math.tanh(1.0)), 4.0, 0.0, 0.0, 0.0]
    none = torch.zeros(1, 2, dtype=torch.bool)
    assert not meet(ours, theirs, None, none, middle, last).any()
    apart = torch.zeros(1, 2, 1 + width)
    apart[0, 0, 0], apart[0, 0, 1] = 1e9, -9.0  # what the pair adds: to the unit, to the value
    found = meet(ours, theirs, apart, both_count, middle, last)
    assert found[0, 0] == 1.0  # no filter is larger, so the value itself is left
