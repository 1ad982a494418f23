"""Summands that mechanisms of many families have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oocdm.envs.generated.mechanisms import AbstractTerm
from oocdm.envs.generated.source import Inputs, Source

LIMIT = np.float32(4)  # of a product


@dataclass(frozen=True)
class Mean(AbstractTerm):
    """The mean of a field over other objects; 0 if there are none.

    >>> print(Mean(0.5, Source("B", "x1", is_local=False)))
    + 0.50 mean(B[*].x1)
    """

    weight: float
    source: Source

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it reads."""
        return (self.source,)

    def value(self, inputs: Inputs) -> np.ndarray:
        """The summand."""
        return self.weight * mean_where(*inputs[self.source])

    def __str__(self) -> str:
        return f"{signed(self.weight)} mean({self.source})"


@dataclass(frozen=True)
class ByCategory(AbstractTerm):
    """An amount for each category of a field of the object itself.

    >>> print(ByCategory((0.5, -0.25), Source("A", "k1", is_local=True)))
    + (0.50, -0.25)[self.k1]
    """

    amounts: tuple[float, ...]
    source: Source

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it reads."""
        return (self.source,)

    def value(self, inputs: Inputs) -> np.ndarray:
        """The summand."""
        return np.array(self.amounts, np.float32)[inputs[self.source][0]]

    def __str__(self) -> str:
        return f"+ ({', '.join(f'{a:.2f}' for a in self.amounts)})[{self.source}]"


@dataclass(frozen=True)
class Toward(AbstractTerm):
    """The way from a field of the object itself to the mean of others; 0 if there are none.

    >>> x, y = Source("A", "x1", is_local=True), Source("B", "x2", is_local=False)
    >>> print(Toward(0.5, y, x))
    + 0.50 (mean(B[*].x2) - self.x1)
    """

    weight: float
    source: Source
    less: Source

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it reads."""
        return (self.source, self.less)

    def value(self, inputs: Inputs) -> np.ndarray:
        """The summand."""
        values, counts = inputs[self.source]
        way = mean_where(values, counts) - inputs[self.less][0]
        some = counts.any(2).reshape(*counts.shape[:2], *(1 for _ in way.shape[2:]))
        return np.asarray(self.weight * np.where(some, way, np.float32(0)))

    def __str__(self) -> str:
        return f"{signed(self.weight)} (mean({self.source}) - {self.less})"


@dataclass(frozen=True)
class Product(AbstractTerm):
    """One summand times another one, up to 4; a number scales all components of a vector.

    Starts lead to no larger products, also out of distribution. The limit keeps fields bounded
    that multiply each other.

    >>> gain = ByCategory((1.0, -1.0), Source("A", "k1", is_local=True))
    >>> print(Product(0.5, gain, Mean(1.0, Source("B", "x1", is_local=False))))
    + 0.50 limit((1.00, -1.00)[self.k1] * mean(B[*].x1), 4)
    """

    weight: float
    left: AbstractTerm
    right: AbstractTerm

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it reads."""
        return (*self.left.sources, *self.right.sources)

    def value(self, inputs: Inputs) -> np.ndarray:
        """The summand."""
        left, right = self.left.value(inputs), self.right.value(inputs)
        left = left.reshape(*left.shape, *(1 for _ in right.shape[left.ndim :]))
        return np.asarray(self.weight * np.clip(left * right, -LIMIT, LIMIT))

    def __str__(self) -> str:
        factors = (str(f).removeprefix("+ ").removeprefix("1.00 ") for f in (self.left, self.right))
        return f"{signed(self.weight)} limit({' * '.join(factors)}, {LIMIT:.0f})"


def mean_where(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The mean over other objects, (world, object, other) and the axis of vectors, that count.

    >>> mean_where(np.array([[[1.0, 3.0, 9.0]]]), np.array([[[True, True, False]]]))
    array([[2.]], dtype=float32)
    """
    mask = counts.reshape(*counts.shape, *(1 for _ in values.shape[counts.ndim :]))
    total = np.where(mask, values, 0).sum(2)
    return np.asarray(total / np.maximum(mask.sum(2), 1), np.float32)


def signed(weight: float) -> str:
    """A weight as it stands in a sum.

    >>> signed(-0.5)
    '- 0.50'
    """
    return f"{'-' if weight < 0 else '+'} {abs(weight):.2f}"
