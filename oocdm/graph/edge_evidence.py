"""What the data say about one edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class EdgeEvidence:
    """The decision about an edge, and the numbers behind it; NaN where there is none.

    >>> EdgeEvidence("Ball.x <- self.x", "yes", score=0.3125).label
    '0.312'
    """

    edge: str
    decision: str
    score: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    limit: float = float("nan")
    p_value: float = float("nan")
    stability: float = float("nan")

    @property
    def label(self) -> str:
        """The score as pictures show it; nothing if there is none."""
        return f"{self.score:.3g}" if self.score == self.score else ""


class EvidenceByEdge(Protocol):
    """What graphs need to know of evidence: `Evidence`, or a dict by the names of edges."""

    def __getitem__(self, edge: str, /) -> EdgeEvidence: ...
