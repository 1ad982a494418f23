"""Learning both with and without each doubtful edge, so that nothing is claimed for lack of it.

A network that had an input from the beginning relies on it, cause or not; another one that never
had it does without. So a look at a trained network says too much for edges that are there, and too
little for those that are not. Before anything is claimed, what a few more steps could turn is
learned both ways, equally often, and judged once more. What is no cause adds less and less
meanwhile, a cause as much as before: what an edge adds must be more than what that moved by.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from oocdm.discovery import Discovery, Gains, Search, look
from oocdm.discovery.limits import TIMES
from oocdm.graph import Structure
from oocdm.methods import Oocdm
from oocdm.methods.method import Inquiry
from oocdm.models.prepared import Prepared
from oocdm.models.world_model import AbstractWorldModel

DOUBTFUL = 0.3  # nats; what adds more has never been seen to be of no use in the end
AT_ONCE = 3  # edges of each target that are turned, one in each structure
ROUNDS, STEPS = 4, 120

# Learn one step under some structures, where a round is so far: from 0 to 1.
Step = Callable[[np.ndarray, float], None]


@dataclass(frozen=True)
class Confirmation:
    """A model that has been learned, and how it learns on."""

    method: Oocdm
    model: AbstractWorldModel
    held_out: Prepared
    free: Structure
    weights: np.ndarray | None  # of edges, from soft priors
    step: Step
    is_late: Callable[[], bool]

    def run(self, found: Discovery) -> Discovery:
        """What is found once doubtful edges have been learned both ways."""
        now, urgency = found.structure, self._urgency(found)
        before, moved = None, np.zeros(now.layout.num_edges)
        for _ in range(ROUNDS):
            tried = self._proposed(now, urgency)
            if not tried.any():
                break
            model, asked = self.model.copy(), Structure(now.layout, np.asarray(tried.any(0)))
            old = self._search(now, asked, model).gains(model, now, asked)
            if not self._learn(np.concatenate([now.flags[None], now.flags ^ tried])):
                break  # what has hardly moved seems to have settled
            before = model
            search = self._search(now, asked, before)
            new = search.gains(self.model, now, asked)
            moved = np.where(asked.edges, np.abs(new.mean - old.mean)[: len(moved)], moved)
            now, is_clear = self._judged(now, asked, search, new, moved)
            urgency[is_clear] = 0.0
        if before is None:
            return found
        search = self._search(now, self.free.with_paths(False), before)
        return look(self.model, now, _within(search, moved))

    def _learn(self, rows: np.ndarray) -> bool:
        """Learn a round, if there is time for all of it."""
        for i in range(STEPS):
            if self.is_late():
                return False
            self.step(rows, i / STEPS)
        return True

    def _search(self, now: Structure, free: Structure, before: AbstractWorldModel) -> Search:
        inquiry = Inquiry(self.model, self.held_out, now, free, self.weights, before=before)
        return self.method.search(inquiry)

    def _urgency(self, found: Discovery) -> np.ndarray:
        """For each element how soon it is to be learned both ways; 0 if it need not be."""
        evidence, layout = found.evidence, found.structure.layout
        score = np.nan_to_num(evidence.score)
        is_in = found.structure.edges
        is_open = evidence.decision == "undecided"
        doubtful = np.where(is_in, (score < DOUBTFUL) | is_open, is_open & (score > 0))
        urgency = np.zeros(len(layout))
        # The least helpful of those that are there come first, then the best of the others.
        urgent = np.where(is_in, 2.0 - np.tanh(score), np.tanh(score))
        urgency[: layout.num_edges] = np.where(doubtful & self.free.edges, urgent, 0.0)
        return urgency

    def _proposed(self, now: Structure, urgency: np.ndarray) -> np.ndarray:
        """What to turn in each variant: of each target another element in each."""
        tried = np.zeros((AT_ONCE, len(urgency)), dtype=bool)
        for columns in now.layout.by_target:
            order = columns[np.argsort(-urgency[columns], kind="stable")][:AT_ONCE]
            order = order[urgency[order] > 0]
            tried[np.arange(len(order)), order] = True
        return tried[tried.any(1)]

    def _judged(
        self, now: Structure, asked: Structure, search: Search, gains: Gains, moved: np.ndarray
    ) -> tuple[Structure, np.ndarray]:
        """The structure as it goes on, and the elements that need not be asked about again."""
        num = len(moved)
        helpful, useless = search.judge(gains)
        claimed = np.zeros(len(helpful), dtype=bool)
        rule = _within(search, moved).rule
        claimed[:num] = rule.is_found(gains.first(num), asked.edges, self.weights)
        flags, is_clear = now.flags.copy(), asked.flags & (claimed | useless)
        for columns in now.layout.by_target:
            here = columns[asked.flags[columns]]
            comes = here[~now.flags[here] & helpful[here]]
            goes = here[now.flags[here] & useless[here]]
            # One at a time: of two that can stand in for each other one must stay.
            if len(goes):
                turned = goes[[gains.mean[goes].argmin()]]
            elif len(comes):
                turned = comes[[gains.mean[comes].argmax()]]
            else:
                continue
            flags[turned] ^= True
            is_clear[here] = np.isin(here, turned)
        return Structure(now.layout, flags), is_clear


def _within(search: Search, moved: np.ndarray) -> Search:
    """The search where edges must add more than what their gains still move by."""
    limits = np.maximum(search.rule.limits, TIMES * moved)
    return replace(search, rule=search.rule.within(limits))


def falling(share: float) -> float:
    """A learning rate's factor in a round of which so much is over, from 1 to a tenth.

    >>> falling(0.0), round(falling(1.0), 3)
    (1.0, 0.1)
    """
    return 0.1 + 0.45 * (1 + math.cos(math.pi * share))
