"""The true distributions of next values in generated worlds.

Each draws values and knows the density of values that were jittered, value plus N(0, blur), so
that values without any noise have one, too. Choices among categories are never jittered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Normal:
    """Numbers with normal noise, or with none if `sd` is 0.

    >>> Normal(np.array([2.0]), sd=0.3).log_prob(np.array([2.0]), blur=0.4).round(4)
    array([-0.2258])
    """

    mean: np.ndarray
    sd: float | np.ndarray

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """Draw values."""
        if not np.any(self.sd):
            return self.mean
        return self.mean + self.sd * rng.standard_normal(self.mean.shape, dtype=np.float32)

    def log_prob(self, values: np.ndarray, blur: np.ndarray | float) -> np.ndarray:
        """Log-density of each jittered number."""
        return log_normal(values, self.mean, np.hypot(self.sd, blur))


@dataclass(frozen=True)
class Jumping:
    """Numbers with normal noise that now and then jump: a mixture of two normals.

    >>> jumping = Jumping(np.zeros(1), sd=0.1, chance=0.01, jump=2.0)
    >>> [round(float(jumping.log_prob(np.array([y]), 0.0)[0]), 3) for y in (0.0, 3.0)]
    [1.374, -7.341]
    """

    mean: np.ndarray
    sd: float | np.ndarray
    chance: float
    jump: float  # standard deviation of a jump

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """Draw values; always as many random numbers, whatever jumps."""
        shape = self.mean.shape
        noise = self.sd * rng.standard_normal(shape, dtype=np.float32)
        jumps = self.jump * rng.standard_normal(shape, dtype=np.float32)
        return self.mean + noise + jumps * (rng.random(shape) < self.chance)

    def log_prob(self, values: np.ndarray, blur: np.ndarray | float) -> np.ndarray:
        """Log-density of each jittered number."""
        narrow = np.hypot(self.sd, blur)
        usual = log_normal(values, self.mean, narrow) + np.log1p(-self.chance)
        jumped = log_normal(values, self.mean, np.hypot(self.jump, narrow)) + np.log(self.chance)
        return np.logaddexp(usual, jumped)


@dataclass(frozen=True)
class Counts:
    """Whole numbers: `least` plus a Poisson number.

    >>> counts = Counts(np.array([2]), np.array([1.0]))
    >>> round(float(np.exp(counts.log_prob(np.array([3.0]), blur=0.01)[0]) * 0.01 * 2.5066), 4)
    0.3679
    """

    least: np.ndarray
    rate: np.ndarray

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """Draw values from one random number each, whatever the rates."""
        uniform = rng.random(self.rate.shape)
        drawn = np.zeros(self.rate.shape, np.int64)
        chance = np.exp(-self.rate)
        below, largest = chance.copy(), float(np.max(self.rate, initial=0.0))
        # Beyond ten deviations chances are smaller than the rounding of their sum.
        for count in range(1, int(largest + 10 * np.sqrt(largest) + 20)):
            is_more = uniform >= below
            if not is_more.any():
                break
            drawn += is_more
            chance = chance * self.rate / count
            below += chance
        return self.least + drawn

    def log_prob(self, values: np.ndarray, blur: np.ndarray | float) -> np.ndarray:
        """Log-density of each jittered number."""
        return log_whole(values, blur, self._log_chance)

    def _log_chance(self, whole: np.ndarray) -> np.ndarray:
        count, rate = whole - self.least[..., None], self.rate[..., None]
        chance = special.xlogy(count, rate) - rate - special.gammaln(np.maximum(count, 0) + 1)
        return np.where(count >= 0, chance, -np.inf)


@dataclass(frozen=True)
class Choice:
    """One of several categories, with a probability each: (world, object, category).

    >>> Choice(np.array([0.25, 0.75])).log_prob(np.array(1), blur=0.0).round(4)
    np.float64(-0.2877)
    """

    probabilities: np.ndarray

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """Draw categories."""
        below = self.probabilities.cumsum(-1)[..., :-1]
        drawn: np.ndarray = (rng.random(below.shape[:-1])[..., None] >= below).sum(-1)
        return drawn

    def log_prob(self, values: np.ndarray, blur: np.ndarray | float) -> np.ndarray:
        """Log-probability of each category; there is nothing to jitter."""
        return log_chosen(self.probabilities, values)


@dataclass(frozen=True)
class NextCategory:
    """The category that comes after the present one, with a chance, else the present one.

    >>> NextCategory(np.array([2]), np.array([0.9]), 3).probabilities.round(1).tolist()
    [[0.9, 0.0, 0.1]]
    """

    now: np.ndarray
    chance: np.ndarray
    number: int  # of categories

    @property
    def probabilities(self) -> np.ndarray:
        """Of each category, on a last axis."""
        codes = np.arange(self.number)
        stays, moves = (
            codes == self.now[..., None],
            codes == (self.now[..., None] + 1) % self.number,
        )
        return np.asarray(stays * (1 - self.chance[..., None]) + moves * self.chance[..., None])

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """Draw categories."""
        moved: np.ndarray = (self.now + (rng.random(self.chance.shape) < self.chance)) % self.number
        return moved

    def log_prob(self, values: np.ndarray, blur: np.ndarray | float) -> np.ndarray:
        """Log-probability of each category; there is nothing to jitter."""
        return log_chosen(self.probabilities, values)


Distribution = Normal | Jumping | Counts | Choice | NextCategory


def log_normal(values: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Log-density of normals, in double precision.

    >>> round(float(log_normal(np.zeros(()), np.zeros(()), np.ones(()))), 4)
    -0.9189
    """
    distance = (np.asarray(values, np.float64) - mean) / sd
    return np.asarray(-0.5 * (distance**2 + LOG_2PI) - np.log(sd))


def log_whole(
    values: np.ndarray,
    blur: np.ndarray | float,
    log_chance: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Log-density of jittered whole numbers: a sum over those that are close.

    `log_chance` tells the log-probabilities of whole numbers, which have a last axis more.

    >>> log_whole(np.array([3.0]), 0.01, lambda whole: np.where(whole == 3, 0.0, -9.0)).round(2)
    array([3.69])
    """
    reach = int(np.ceil(8 * np.max(blur))) + 1
    near = np.rint(values)[..., None] + np.arange(-reach, reach + 1)
    jitter = log_normal(values[..., None], near, np.asarray(blur))
    return np.asarray(special.logsumexp(log_chance(near) + jitter, axis=-1))


def log_rounded(whole: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Log-probabilities that normals are rounded to some whole numbers.

    >>> np.exp(log_rounded(np.arange(-1.0, 2.0), np.zeros(3), np.full(3, 0.5))).round(3)
    array([0.157, 0.683, 0.157])
    """
    low, high = ((whole + step - mean) / sd for step in (-0.5, 0.5))
    # Below the mean probabilities have all their digits.
    low, high = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
    return np.log(np.maximum(special.ndtr(high) - special.ndtr(low), 1e-300))


def log_chosen(probabilities: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Logarithms of the probabilities of some categories.

    >>> log_chosen(np.array([[0.5, 0.5]]), np.array([1])).round(3)
    array([-0.693])
    """
    chosen = np.take_along_axis(probabilities, np.asarray(values)[..., None], -1)[..., 0]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(chosen))
