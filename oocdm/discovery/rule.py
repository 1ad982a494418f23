"""How gains become decisions: which edges are in the graph, which are not, which stay open."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # whose `stats` loads when it is first used: half a second

from oocdm.discovery.gains import Gains
from oocdm.graph import AbstractEdgeSpace, Evidence, decision_words
from oocdm.reading import Share, check_fields

CONFIDENCE = 0.95  # of the intervals


@dataclass(frozen=True)
class Rule:
    """An edge is in the graph if it explains more than `min_effect` of what is left unexplained.

    That is a share of the variance of the target's prediction error, seen at the resolution of
    the scores; a tenth is 0.05 nats. The null hypothesis of each edge is that its gain is not
    above it; `false_discovery_rate` bounds the expected share of wrong edges among those that
    are found (Benjamini and Hochberg). With a `threshold` in nats, edges are simply compared
    with it.

    >>> round(Rule(min_effect=0.1).effect, 4)
    0.0527
    >>> Rule(threshold=0.3).effect
    0.3
    """

    min_effect: Share = 0.1
    false_discovery_rate: Share = 0.05
    threshold: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def effect(self) -> float:
        """Nats that an edge must add."""
        if self.threshold is not None:
            return self.threshold
        return -0.5 * math.log1p(-self.min_effect)

    def p_values(self, gains: Gains) -> np.ndarray:
        """Of the hypothesis that an element adds no more than the effect; one-sided t-tests."""
        excess = gains.mean - self.effect
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(gains.error > 0, excess / gains.error, np.sign(excess) * np.inf)
        z = np.where(excess == 0, 0.0, z)
        return np.asarray(scipy.stats.t.sf(z, np.maximum(gains.groups - 1, 1)))

    def interval(self, gains: Gains) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the intervals of the gains."""
        factor = scipy.stats.t.isf((1 - CONFIDENCE) / 2, np.maximum(gains.groups - 1, 1))
        return gains.mean - factor * gains.error, gains.mean + factor * gains.error

    def is_found(
        self, gains: Gains, tested: np.ndarray, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Which of the tested elements are found; larger `weights` make one easier to find."""
        found = np.zeros(len(tested), dtype=bool)
        if self.threshold is not None:
            found[tested] = gains.mean[tested] > self.threshold
        elif tested.any():
            p = self.p_values(gains)[tested]
            if weights is not None:
                p = np.minimum(p / weights[tested], 1.0)
            found[tested] = scipy.stats.false_discovery_control(p) <= self.false_discovery_rate
        return found

    def is_rejected(self, gains: Gains) -> np.ndarray:
        """Which elements do not add the effect for sure: their intervals do not reach above it."""
        high = gains.mean if self.threshold is not None else self.interval(gains)[1]
        return high <= self.effect

    def decisions(self, gains: Gains, found: np.ndarray, tested: np.ndarray) -> np.ndarray:
        """In words: yes, no, undecided (the interval reaches above the effect) or untestable."""
        return decision_words(tested, found, self.is_rejected(gains))

    def evidence(
        self, edges: AbstractEdgeSpace, gains: Gains, found: np.ndarray, tested: np.ndarray
    ) -> Evidence:
        """What the gains say of each edge; numbers only of those that were tested."""
        low, high = self.interval(gains)
        return Evidence.of_test(
            *(edges, tested, found, self.is_rejected(gains)),
            score=gains.mean,
            low=low,
            high=high,
            p_value=self.p_values(gains),
        )
