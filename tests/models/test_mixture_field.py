"""Mixtures of a narrow and a wide normal."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from oocdm.models.mixture_field import MixtureField
from oocdm.models.normal_field import NormalField
from oocdm.schema import Field, Integer, Real


def mixture(
    field: Field, narrow: tuple[float, float], wide: tuple[float, float], chance: float
) -> MixtureField:
    """Many of the same."""
    shape = (200, 100)
    parts = [
        NormalField(field, torch.full(shape, m), torch.full(shape, s)) for m, s in (narrow, wide)
    ]
    return MixtureField(*parts, torch.full(shape, chance))


def first(numbers: Tensor) -> float:
    return float(numbers.flatten()[0])


def test_samples_have_its_mean_and_spread_and_its_quantiles() -> None:
    found = mixture(Real(), (1.0, 0.5), (4.0, 3.0), 0.3)
    drawn = found.sample(torch.Generator().manual_seed(0)).double()
    assert abs(drawn.mean() - first(found.mean)) < 0.06
    assert abs(drawn.std() - first(found.sigma)) < 0.06
    for probability in (0.05, 0.5, 0.95):
        quantile = found.quantile(probability)
        assert abs((drawn < quantile).double().mean() - probability) < 0.01
        assert first(found.cdf(quantile)) == pytest.approx(probability, abs=1e-12)


def test_intervals_are_narrow_where_jumps_are_rare() -> None:
    low, high = mixture(Real(), (0.0, 1e-4), (0.0, 20.0), 0.01).interval(0.9)
    assert -2e-4 < first(low) < 0 < first(high) < 2e-4
    low, high = mixture(Real(), (0.0, 1e-4), (0.0, 20.0), 0.5).interval(0.9)
    assert first(high) > 20  # a tenth of the wide part's upper half lies beyond


def test_the_mode_is_the_centre_of_the_likelier_part() -> None:
    assert first(mixture(Integer(), (2.4, 0.1), (7.0, 5.0), 0.4).mode()) == 2
    assert first(mixture(Integer(), (2.4, 0.1), (7.0, 5.0), 0.6).mode()) == 7


@pytest.mark.parametrize(
    "field", [Real(), Real(low=0.0), Real(high=0.3), Integer(), Integer(0, 4, likelihood="auto")]
)
def test_noise_that_is_kept_is_as_random_as_any(field: Field) -> None:
    """What is drawn, and imagined in another state with its noise, is as drawn in that."""
    generator = torch.Generator().manual_seed(0)
    one = mixture(field, (0.4, 0.3), (1.5, 2.0), 0.2)
    other = mixture(field, (1.4, 0.5), (1.0, 4.0), 0.4)
    drawn = one.sample(generator)
    noise = one.noise_of(drawn, generator)
    assert torch.equal(one.with_noise(noise).to(drawn.dtype), drawn)
    imagined, expected = other.with_noise(noise).double(), other.sample(generator).double()
    assert abs(imagined.mean() - expected.mean()) < 0.06
    assert abs(imagined.std() - expected.std()) < 0.06


def test_values_between_two_parts_that_lie_apart_come_back() -> None:
    """There the distribution function is flat: no number of its own would tell them apart."""
    found = mixture(Real(), (0.0, 1e-3), (100.0, 1e-3), 0.5)
    value = torch.linspace(-50, 150, 20_000).view(200, 100)
    noise = found.noise_of(value, torch.Generator().manual_seed(0))
    assert noise.isfinite().all()
    assert torch.equal(found.with_noise(noise).float(), value)


def test_noise_tells_which_part_a_value_comes_of() -> None:
    found = mixture(Real(), (0.0, 0.1), (0.0, 10.0), 0.01)
    generator = torch.Generator().manual_seed(0)
    usual = found.noise_of(torch.full((200, 100), 0.05), generator)
    jumped = found.noise_of(torch.full((200, 100), 5.0), generator)
    assert ((usual[..., 1] < found.chance).double().mean() < 0.01) and (usual[..., 1] < 1).all()
    assert (jumped[..., 1] < found.chance).all()


def test_normal_scores_are_standard_normals_of_what_is_drawn() -> None:
    found = mixture(Real(), (1.0, 0.01), (4.0, 3.0), 0.3)
    scores = found.normal_scores(found.sample(torch.Generator().manual_seed(0)))
    assert abs(scores.mean()) < 0.03 and abs(scores.std() - 1) < 0.03
    far = found.normal_scores(torch.full((200, 100), 60.0))
    assert 15 < first(far) < 30  # also where probabilities have hardly any digits left
