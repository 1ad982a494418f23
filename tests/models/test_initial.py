"""Weights before training."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from oocdm.models.initial import xavier


def test_weights_are_as_wide_as_xavier_says_whatever_their_axes() -> None:
    torch.manual_seed(0)
    weight = xavier(40, 30, 50, fan_in=30, fan_out=50)
    assert isinstance(weight, nn.Parameter) and weight.shape == (40, 30, 50)
    assert weight.mean().item() == pytest.approx(0.0, abs=0.01)
    assert weight.std().item() == pytest.approx((2 / 80) ** 0.5, rel=0.02)
