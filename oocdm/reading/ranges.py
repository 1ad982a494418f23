"""Ranges of numbers, which stand beside a type: `Annotated[int, Range(at_least=1)]`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

LARGEST = 2**63 - 1  # of a whole number that an array of NumPy or a tensor can hold


@dataclass(frozen=True)
class Range:
    """Which numbers are allowed; without a range all that are finite and fit into 64 bits.

    >>> share = Range(above=0, at_most=1)
    >>> share.has(1.0), share.has(0.0)
    (True, False)
    >>> share.words
    ' above 0 and of at most 1'
    """

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    is_finite: bool = True  # otherwise NaN and infinite numbers are allowed, too

    def has(self, number: float) -> bool:
        """Whether a number is in the range."""
        if isinstance(number, float) and not math.isfinite(number):
            if self.is_finite:
                return False
        elif isinstance(number, int) and self._has_no_end and abs(number) > LARGEST:
            return False
        return (
            (self.at_least is None or not number < self.at_least)
            and (self.above is None or not number <= self.above)
            and (self.at_most is None or not number > self.at_most)
            and (self.below is None or not number >= self.below)
        )

    @property
    def words(self) -> str:
        """What follows "a number" in a message."""
        if self.at_least is not None and self.at_most is not None:
            return f" from {self.at_least} to {self.at_most}"
        ends = {
            "of at least": self.at_least,
            "above": self.above,
            "of at most": self.at_most,
            "below": self.below,
        }
        said = [f"{which} {end}" for which, end in ends.items() if end is not None]
        return f" {' and '.join(said)}" if said else ""

    @property
    def _has_no_end(self) -> bool:
        return self.at_most is None and self.below is None


ANY = Range()
Count = Annotated[int, Range(at_least=1)]
CountOrZero = Annotated[int, Range(at_least=0)]
# Of what takes memory by its number, such as units of a layer, or structures in a batch.
Size = Annotated[int, Range(at_least=1, at_most=2**16)]
Seed = CountOrZero
Positive = Annotated[float, Range(above=0)]
NotNegative = Annotated[float, Range(at_least=0)]
Share = Annotated[float, Range(above=0, below=1)]
Probability = Annotated[float, Range(at_least=0, at_most=1)]
AnyNumber = Annotated[float, Range(is_finite=False)]
