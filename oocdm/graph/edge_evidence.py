"""What the data say about one edge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class EdgeEvidence:
    """The decision about an edge, and the numbers behind it; NaN where there is none.

    `share` is what the edge explains of what is left unexplained of its target without it, of the
    variance if that is a normal: 0.05 nats are a tenth.

    >>> said = EdgeEvidence("Ball.x <- self.x", "yes", score=0.3125, limit=0.003)
    >>> said.label, round(said.share, 3)
    ('0.312', 0.465)
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
    def share(self) -> float:
        """How much of the unexplained it explains; NaN if its score is not in nats."""
        return explained(self.score) if self.limit == self.limit else float("nan")

    @property
    def label(self) -> str:
        """The score as pictures show it; nothing if there is none."""
        return f"{self.score:.3g}" if self.score == self.score else ""


def explained(nats: float) -> float:
    """The share of a variance that a predictor explains which is better by so many nats.

    >>> round(explained(0.0527), 3), explained(-0.2)
    (0.1, 0.0)
    """
    return max(-math.expm1(-2 * nats), 0.0)


class EvidenceByEdge(Protocol):
    """What graphs need to know of evidence: `Evidence`, or a dict by the names of edges."""

    def __getitem__(self, edge: str, /) -> EdgeEvidence: ...
