"""Normals of single fields."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from oocdm.schema import Boolean, Field, Integer

_VANISHING = 30.0  # sigmas from which on probabilities of normals are hardly numbers


@dataclass(frozen=True)
class NormalField:
    """Independent normals, one a component: (batch, object, *shape).

    >>> from oocdm.schema import Real
    >>> NormalField(Real(low=0.0), torch.tensor([-1.0, 2.0]), torch.ones(2)).mode().tolist()
    [0.0, 2.0]
    """

    field: Field
    mean: Tensor
    sigma: Tensor

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Draw values of the field; whole numbers are rounded, bounded ones clipped."""
        return self.with_noise(self.draw_noise(generator))

    def draw_noise(
        self, generator: torch.Generator | None = None, rows: int | None = None
    ) -> Tensor:
        """Noise that values are drawn with, of so many rows; of its own unless that is said."""
        shape = self.mean.shape if rows is None else (rows, *self.mean.shape[1:])
        # On the processor, where the generator is: so draws are the same on every device.
        noise = torch.randn(shape, generator=generator, dtype=self.mean.dtype)
        return noise.to(self.mean.device)

    def mode(self) -> Tensor:
        """The most likely value of the field."""
        return self._to_domain(self.mean)

    def noise_of(self, value: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Noise with which the prediction becomes a value, in sigmas from the mean.

        Values that are rounded, cut off at a bound or true or false come of all the noise in an
        interval, from which it is drawn.
        """
        mean, sigma = self.mean.double(), self.sigma.double()
        numbers = self.numbers_of(value)
        exact = (numbers - mean) / sigma
        low, high = self.comes_of(numbers)
        noise = truncated_normal((low - mean) / sigma, (high - mean) / sigma, generator)
        # At the very ends rounding may lead to a neighbour.
        is_kept = (low < high) & (self.with_noise(noise) == self._to_domain(numbers))
        return torch.where(is_kept, noise, exact)

    def numbers_of(self, value: Tensor) -> Tensor:
        """Values as the numbers that are predicted, in double precision; booleans as -1 and +1."""
        numbers = value.double().reshape(self.mean.shape)
        return 2 * numbers - 1 if isinstance(self.field, Boolean) else numbers

    def comes_of(self, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """The ends of the interval of numbers that become the same value."""
        infinity = torch.full_like(numbers, torch.inf)
        if isinstance(self.field, Boolean):
            zero, is_true = torch.zeros_like(numbers), numbers > 0
            return torch.where(is_true, zero, -infinity), torch.where(is_true, infinity, zero)
        half = 0.5 if isinstance(self.field, Integer) else 0.0
        low, high, held = numbers - half, numbers + half, numbers.float()  # as bounds are held
        if self.field.low is not None:
            low = torch.where(held <= self.field.low, -infinity, low)
        if self.field.high is not None:
            high = torch.where(held >= self.field.high, infinity, high)
        return low, high

    def with_noise(self, noise: Tensor) -> Tensor:
        """The value that the prediction becomes with some noise."""
        return self._to_domain((self.sigma * noise).add_(self.mean))

    def _to_domain(self, numbers: Tensor) -> Tensor:
        if isinstance(self.field, Boolean):
            return (numbers > 0).long()
        low, high = self.field.low, self.field.high
        if isinstance(self.field, Integer):
            # Cut off before and after: a cast wraps, and bounds need not be exact as floats.
            numbers = numbers.round().clamp(-self.field.largest, self.field.largest).long()
        return numbers if low is None and high is None else numbers.clamp(low, high)


def truncated_normal(low: Tensor, high: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Standard normals between two ends, in double precision also far from 0.

    >>> ends = torch.tensor([2.0, 1e5], dtype=torch.float64)
    >>> drawn = truncated_normal(ends, ends + 1, torch.Generator().manual_seed(0))
    >>> bool(((ends < drawn) & (drawn < ends + 1)).all())
    True
    """
    # Below 0 probabilities are small numbers with all their digits, above it they are nearly 1.
    is_above = low + high > 0
    near, far = torch.where(is_above, -low, high), torch.where(is_above, -high, low)
    uniform = torch.rand(low.shape, generator=generator, dtype=torch.float64).to(low.device)
    below, above = (torch.special.log_ndtr(end).exp() for end in (far, near))  # `ndtr` has no tails
    usual = torch.special.ndtri(below + uniform * (above - below))
    # Where even these vanish, the normal falls like an exponential.
    rate = near.abs().clamp(min=1.0)
    tail = near + torch.log1p(uniform * torch.expm1(rate * (far - near))) / rate
    drawn = torch.where(near < -_VANISHING, tail, usual)
    return torch.where(is_above, -drawn, drawn)
