"""Normals of single fields."""

from __future__ import annotations

import pytest
import torch

from oocdm.models.normal_field import NormalField
from oocdm.schema import Boolean, Field, Integer, Real


@pytest.mark.parametrize(
    ("field", "was", "would", "sigma"),
    [
        (Real(low=0.0), -1.0, 1.0, 1.0),
        (Real(high=0.3), 0.5, 0.1, 0.4),
        (Boolean(likelihood="normal"), 0.0, -0.9, 1.0),
        (Integer(likelihood="normal"), 0.0, 0.4, 0.3),
        (Integer(0, 4, likelihood="normal"), 3.9, 2.2, 1.5),
    ],
)
def test_noise_that_is_kept_is_as_random_as_any(
    field: Field, was: float, would: float, sigma: float
) -> None:
    """What is drawn, and imagined under another mean with its noise, is as drawn under that."""
    generator = torch.Generator().manual_seed(0)
    shape = (200, 100)
    one, other = (
        NormalField(field, torch.full(shape, mean), torch.full(shape, sigma))
        for mean in (was, would)
    )
    drawn = one.sample(generator)
    noise = one.noise_of(drawn, generator)
    assert torch.equal(one.with_noise(noise).to(drawn.dtype), drawn)
    imagined, expected = other.with_noise(noise).double(), other.sample(generator).double()
    assert abs(imagined.mean() - expected.mean()) < 0.03
    assert abs(imagined.std() - expected.std()) < 0.03


def test_surprises_have_noise_too() -> None:
    """A whole number that is a hundred thousand sigmas away keeps its value."""
    sure = NormalField(
        Integer(0, 7, likelihood="normal"), torch.zeros(1, 4), torch.full((1, 4), 1e-5)
    )
    value = torch.tensor([[0, 1, 3, 7]])
    noise = sure.noise_of(value, torch.Generator().manual_seed(0))
    assert noise.isfinite().all() and torch.equal(sure.with_noise(noise), value)


@pytest.mark.parametrize(
    ("field", "ends"),
    [
        (Integer(), (-(2**53), 2**53)),
        (Integer(low=0, high=2**53 - 1), (0, 2**53 - 1)),  # no float32 is as near to its bound
        (Integer(low=-3, high=1000, likelihood="normal"), (-3, 1000)),
    ],
)
def test_whole_numbers_never_wrap(field: Integer, ends: tuple[int, int]) -> None:
    mean = torch.tensor([-1e30, 1e30, float("inf"), 2.4])
    found = NormalField(field, mean, torch.ones(4)).mode()
    assert found.tolist() == [ends[0], ends[1], ends[1], 2]
