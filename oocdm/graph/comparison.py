"""How two graphs differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class GraphComparison:
    """How a graph differs from the true one.

    >>> GraphComparison(missing=1, extra=0, true_edges=4, possible=16).accuracy
    0.9375
    """

    missing: int
    extra: int
    true_edges: int
    possible: int

    @property
    def shd(self) -> int:
        """Structural Hamming distance: wrong edges."""
        return self.missing + self.extra

    @property
    def accuracy(self) -> float:
        """1 - SHD / number of possible edges."""
        return 1.0 - self.shd / self.possible if self.possible else 1.0

    @property
    def precision(self) -> float:
        """Share of the found edges that are true (1 if none was found)."""
        found = self.true_edges - self.missing + self.extra
        return (self.true_edges - self.missing) / found if found else 1.0

    @property
    def recall(self) -> float:
        """Share of the true edges that were found (1 if there is none)."""
        return (self.true_edges - self.missing) / self.true_edges if self.true_edges else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def compare_masks(found: np.ndarray, true: np.ndarray) -> GraphComparison:
    """Compare two sets of edges, given as booleans of equal shape."""
    return GraphComparison(
        missing=int((true & ~found).sum()),
        extra=int((found & ~true).sum()),
        true_edges=int(true.sum()),
        possible=int(true.size),
    )
