"""Mixtures of single fields: a narrow normal, and a wide one for what is rare."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from oocdm.models.normal_field import NormalField
from oocdm.schema import Field

HALVINGS = 60  # of a bracket, until a quantile in it is known to the last digit


@dataclass(frozen=True)
class MixtureField:
    """Mixtures of two normals, one mixture a component: (batch, object, *shape).

    `chance` is how probable the wide part is. The noise of a value has two numbers on a last
    axis: that of the normal it comes of, and one between 0 and 1 that tells which normal this is,
    the wide one below its chance. The distribution function would make one number of them, but
    between two parts that lie apart it has no digits left to tell values by.

    >>> from oocdm.schema import Real
    >>> narrow, wide = (
    ...     NormalField(Real(), torch.zeros(1), torch.tensor([sigma])) for sigma in (0.1, 10.0)
    ... )
    >>> mixture = MixtureField(narrow, wide, torch.tensor([0.01]))
    >>> round(float(mixture.quantile(0.95)), 3)
    0.169
    """

    narrow: NormalField
    wide: NormalField
    chance: Tensor

    @property
    def field(self) -> Field:
        """The field that is predicted."""
        return self.narrow.field

    @property
    def mean(self) -> Tensor:
        """The expected number."""
        return torch.lerp(self.narrow.mean, self.wide.mean, self.chance)

    @property
    def sigma(self) -> Tensor:
        """The standard deviation of the number."""
        apart = self.chance * (1 - self.chance) * (self.wide.mean - self.narrow.mean).square()
        within = torch.lerp(self.narrow.sigma.square(), self.wide.sigma.square(), self.chance)
        return (within + apart).sqrt()

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Draw values of the field; whole numbers are rounded, bounded ones clipped."""
        return self.with_noise(self.draw_noise(generator))

    def draw_noise(
        self, generator: torch.Generator | None = None, rows: int | None = None
    ) -> Tensor:
        """Noise that values are drawn with, of so many rows; of its own unless that is said."""
        shape, dtype = self.chance.shape, self.chance.dtype
        shape = shape if rows is None else torch.Size((rows, *shape[1:]))
        # On the processor, where the generator is: so draws are the same on every device.
        normal = torch.randn(shape, generator=generator, dtype=dtype)
        uniform = torch.rand(shape, generator=generator, dtype=dtype)
        return torch.stack([normal, uniform], -1).to(self.chance.device)

    def mode(self) -> Tensor:
        """The centre of the part that is more probable."""
        return self._of(self.chance > 0.5).mode()

    def with_noise(self, noise: Tensor) -> Tensor:
        """The value that the prediction becomes with some noise."""
        return self._of(noise[..., 1] < self.chance).with_noise(noise[..., 0])

    def noise_of(self, value: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Noise with which the prediction becomes a value, drawn from all that does.

        Which part the value comes of is drawn as probable as each one makes it.
        """
        narrow, wide = self._log_masses(value)
        share = torch.sigmoid(wide - narrow)
        draws = torch.rand((2, *share.shape), generator=generator, dtype=torch.float64)
        first, second = draws.to(share.device)
        is_wide, chance = first < share, self.chance.double()
        which = torch.where(is_wide, second * chance, chance + second * (1 - chance))
        return torch.stack([self._of(is_wide).noise_of(value, generator), which], -1)

    def cdf(self, numbers: Tensor) -> Tensor:
        """The probability of less than some numbers, in double precision."""
        low, high = (
            torch.special.ndtr((numbers.double() - part.mean.double()) / part.sigma.double())
            for part in (self.narrow, self.wide)
        )
        return torch.lerp(low, high, self.chance.double())

    def quantile(self, probability: float) -> Tensor:
        """The number below which a value lies with some probability, in double precision."""
        p = torch.tensor(probability, dtype=torch.float64)
        each = [
            part.mean.double() + part.sigma.double() * torch.special.ndtri(p).to(part.mean.device)
            for part in (self.narrow, self.wide)
        ]
        low, high = torch.minimum(*each), torch.maximum(*each)  # it lies between those of the parts
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            is_below = self.cdf(middle) < probability
            low, high = torch.where(is_below, middle, low), torch.where(is_below, high, middle)
        return (low + high) / 2

    def interval(self, probability: float) -> tuple[Tensor, Tensor]:
        """The central interval in which a value lies with some probability."""
        tail = (1 - probability) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    def normal_scores(self, value: Tensor) -> Tensor:
        """How far out values lie: as many sigmas as a normal with the same probability beyond."""
        numbers, chance = self.narrow.numbers_of(value), self.chance.double()

        def beyond(sign: float) -> Tensor:
            each = [
                torch.special.log_ndtr(sign * (numbers - p.mean.double()) / p.sigma.double())
                for p in (self.narrow, self.wide)
            ]
            return torch.lerp(each[0].exp(), each[1].exp(), chance)  # `ndtr` has no tails

        below, above = beyond(1.0), beyond(-1.0)
        # Small probabilities have all their digits, those near 1 have none.
        return torch.where(below < above, torch.special.ndtri(below), -torch.special.ndtri(above))

    def _of(self, is_wide: Tensor) -> NormalField:
        """The part of each component that is told."""
        return replace(
            self.narrow,
            mean=torch.where(is_wide, self.wide.mean, self.narrow.mean),
            sigma=torch.where(is_wide, self.wide.sigma, self.narrow.sigma),
        )

    def _log_masses(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Logarithms of how probable each part and the value together are, up to a constant."""
        numbers = self.narrow.numbers_of(value)
        low, high = self.narrow.comes_of(numbers)
        chance, masses = self.chance.double(), []
        for part, share in ((self.narrow, torch.log1p(-chance)), (self.wide, chance.log())):
            mean, sigma = part.mean.double(), part.sigma.double()
            ratio = sigma / self.narrow.sigma.double()  # a sigma alone has a unit
            density = -0.5 * ((numbers - mean) / sigma).square() - ratio.log()
            inside = log_mass((low - mean) / sigma, (high - mean) / sigma)
            masses.append(share + torch.where(low < high, inside, density))
        return masses[0], masses[1]


def log_mass(low: Tensor, high: Tensor) -> Tensor:
    """The logarithm of a standard normal's probability between two ends, in double precision.

    >>> ends = torch.tensor([0.0, 100.0], dtype=torch.float64)
    >>> log_mass(ends, ends + torch.inf).round(decimals=2).tolist()  # the last is e to so many
    [-0.69, -5005.52]
    """
    is_above = low + high > 0  # there the other tail has more digits
    near, far = torch.where(is_above, -low, high), torch.where(is_above, -high, low)
    most, rest = torch.special.log_ndtr(near), torch.special.log_ndtr(far)
    return most + torch.log1p(-(rest - most).exp())
