"""How fields start, in distribution and out of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oocdm.schema import Field


@dataclass(frozen=True)
class Start:
    """Numbers start uniformly between two ends, categories with some odds.

    Out of distribution numbers start beyond the ends, up to twice as far from the middle (above
    `high` only, if they are not negative), and categories with the odds reversed, or if all are
    equal with odds of 3 to 1 for the first ones. What starts near another field of its object is
    that field and a little of its own.

    >>> from oocdm.schema import Real
    >>> rng = np.random.default_rng(0)
    >>> values = Start(-1.0, 1.0).draw(Real(), (1000,), rng, ood=True)
    >>> bool((abs(values) >= 1).all() and (abs(values) <= 2).all())
    True
    """

    low: float = -1.0
    high: float = 1.0
    odds: tuple[float, ...] = ()  # all equal if none are given
    near: str | None = None
    own_part: float = 0.1  # of what starts near another field

    def draw(
        self, field: Field, shape: tuple[int, ...], rng: np.random.Generator, ood: bool
    ) -> np.ndarray:
        """Values of a field, (world, object) and the axis of vectors."""
        if field.is_real:
            shape = (*shape, *field.shape)
            values = rng.uniform(self.low, self.high, shape).astype(np.float32)
            return self._beyond(values) if ood else values
        if not field.num_codes:
            low, high = int(self.low), int(self.high) + 1
            return rng.integers(low, high, size=shape) + (high - low if ood else 0)
        if not self.odds and not ood:
            return rng.integers(field.num_codes, size=shape)
        odds = self.odds[::-1] or np.linspace(3, 1, field.num_codes) if ood else self.odds
        return rng.choice(field.num_codes, size=shape, p=np.array(odds) / np.sum(odds))

    def _beyond(self, values: np.ndarray) -> np.ndarray:
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        if self.low >= 0:
            return np.asarray(values + np.float32(2 * half))
        return np.asarray(values + np.copysign(np.float32(half), values - np.float32(middle)))
