"""How gains become decisions: which edges are in the graph, which are not, which stay open."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # whose `stats` loads when it is first used: half a second

from oocdm.discovery.gains import Gains
from oocdm.graph import AbstractEdgeSpace, Evidence, decision_words
from oocdm.reading import Share, check_fields

CONFIDENCE = 0.95  # of the intervals
# Nats. In generated worlds 99 % of the needless edges into targets that were learned to the end
# added less than the first; what is less than the second matters to nobody.
LEAST, NEGLIGIBLE = 0.003, 0.005
LITTLE = 0.053  # a tenth of a variance


@dataclass(frozen=True)
class Rule:
    """An edge is in the graph if it surely adds more than a useless one would add to its target.

    What useless ones may add is the target's own limit: `within` sets the limits, in nats, at
    least 0.003 each. The null hypothesis of each edge is that its gain is not above its limit;
    `false_discovery_rate` bounds the expected share of wrong edges among those that are found
    (Benjamini and Hochberg). A user may wish that edges matter, too: `min_effect` is the share of
    the variance of the target's prediction error that they must explain, seen at the resolution
    of the scores; a tenth is 0.05 nats. With a `threshold` in nats, edges are simply compared
    with it.

    >>> Rule().effect, round(Rule(min_effect=0.1).effect, 4), Rule(threshold=0.3).effect
    (0.003, 0.0527, 0.3)
    >>> Rule().within(np.array([0.0, 0.02])).effect.tolist()
    [0.003, 0.02]
    """

    min_effect: Share | None = None
    false_discovery_rate: Share = 0.05
    threshold: float | None = None
    limits: Any = 0.0  # numbers or one number: one for each element that is judged, or one for all

    def __post_init__(self) -> None:
        check_fields(self)

    def within(self, limits: np.ndarray | float) -> Rule:
        """The same rule where useless elements may add so many nats; none are NaN."""
        return replace(self, limits=limits)

    @property
    def in_passing(self) -> Rule:
        """The rule by which elements come and go while much is still learned: a little suffices.

        What useless edges may add to a target says which edges can be claimed. If it also said
        what may come in, nothing would before its target was learned, and nothing would be learned.
        """
        return self.within(np.minimum(self.limits, LITTLE))

    @property
    def least(self) -> float:
        """Nats that any edge must add, whatever its limit."""
        if self.threshold is not None:
            return self.threshold
        return LEAST if self.min_effect is None else -0.5 * math.log1p(-self.min_effect)

    @property
    def effect(self) -> np.ndarray | float:
        """Nats that an edge must add: one number for each limit."""
        if self.threshold is not None or not np.any(np.asarray(self.limits) > self.least):
            return self.least
        return np.maximum(self.limits, self.least)

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
        if self.threshold is not None:
            return gains.mean <= self.threshold
        # What adds more than a little is no cause only if its target has been learned.
        effect = self.in_passing.effect
        return np.asarray(self.interval(gains)[1] <= np.maximum(effect, NEGLIGIBLE))

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
            limit=self.effect,
        )
