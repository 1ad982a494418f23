"""How much each part of a structure helps, and how sure that is.

The gain of an edge is the log-likelihood of its target with the edge less that without it, a
mean over transitions that the predictors were not fitted on: from the full graph, the paper's
class-level conditional mutual information. Transitions of one episode are not independent, so
standard errors are made from sums over whole episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from oocdm.data.clusters import MIN_CLUSTERS
from oocdm.models.network import AbstractClassModel
from oocdm.models.prepared import Prepared

CHUNK = 256  # transitions scored at once: few enough to stay in the processor's caches
PROMISING_ERRORS, PROMISING_NATS = 3.0, 0.005  # what surely is more than nothing

# Told how many of the tested parts are settled, and how many there are.
Settling = Callable[[int, int], None]


@dataclass(frozen=True)
class Gains:
    """Nats that each part adds, with standard errors; `groups` is the number of episodes."""

    mean: np.ndarray
    error: np.ndarray
    groups: np.ndarray  # that the error of each part was made from

    @property
    def is_promising(self) -> np.ndarray:
        """Which parts surely add something, however little."""
        return self.mean > np.maximum(PROMISING_ERRORS * self.error, PROMISING_NATS)

    def map(self, change: Callable[[np.ndarray], np.ndarray]) -> Gains:
        """The gains with every array replaced by `change` of it."""
        return Gains(change(self.mean), change(self.error), change(self.groups))

    def replaced(self, other: Gains, where: np.ndarray) -> Gains:
        """These gains, with those of another measurement in some places."""
        return Gains(
            np.where(where, other.mean, self.mean),
            np.where(where, other.error, self.error),
            np.where(where, other.groups, self.groups),
        )


@dataclass(frozen=True)
class Stopping:
    """When to stop sampling a part: its gain is `errors` standard errors away from `effect`.

    Looks are taken whenever the number of transitions has doubled. What happens in one step of
    two hundred may not have shown itself yet, so no part is given up before `patience`
    transitions. They must come in random order.
    """

    effect: np.ndarray
    errors: float = 4.5
    first_look: int = 512
    patience: int = 1024

    def is_clear(self, gains: Gains, seen: int) -> np.ndarray:
        """Which parts need no more transitions."""
        is_far = np.abs(gains.mean - self.effect) > self.errors * gains.error
        is_settled = (gains.mean > self.effect) | (seen >= self.patience)
        return is_far & is_settled & (gains.groups >= MIN_CLUSTERS)


@torch.no_grad()
def part_gains(
    model: AbstractClassModel,
    data: Prepared,
    structure: np.ndarray,
    resolution: Mapping[str, Tensor] | None,
    tested: np.ndarray | None = None,
    stopping: Stopping | None = None,
    settling: Settling | None = None,
) -> Gains:
    """What each part adds to the log-likelihood of its target, all else as in `structure`.

    Targets do not share predictors, so one neighbour of the structure can turn a part of each.
    Only `tested` parts are measured, all of them by default; the others have a gain of 0.
    """
    columns = {c: model.part_columns(c) for c in model.predictors}
    is_open = np.ones(len(structure), dtype=bool) if tested is None else tested.copy()
    total = int(is_open.sum())
    group = data.cluster.cpu().numpy()
    tallies = {c: Tally(each, structure) for c, each in columns.items()}
    mean, error = np.zeros(len(structure)), np.zeros(len(structure))
    groups = np.zeros(len(structure), dtype=int)
    start = 0
    while start < len(data) and is_open.any():
        stop = len(data)
        if stopping is not None:
            stop = min(stop, max(2 * start, stopping.first_look))
        parts = {c: np.flatnonzero(is_open[each].any(0)) for c, each in columns.items()}
        predict = model.around(structure, parts)
        for rows in range(start, stop, CHUNK):
            chunk = data.rows(slice(rows, min(rows + CHUNK, stop)))
            targets = chunk.targets.repeat({c: 1 + len(each) for c, each in parts.items()})
            scores = predict(chunk.inputs).log_prob(targets, resolution)
            for c, score in scores.items():
                known = chunk.targets.known[c].sum(1)
                tallies[c].add(parts[c], score.sum(1), known, group[rows : rows + len(chunk)])
        for tally in tallies.values():
            tally.write(is_open, mean, error, groups)
        if stopping is not None:
            is_open &= ~stopping.is_clear(Gains(mean, error, groups), stop)
        if settling is not None:
            settling(total - int(is_open.sum()), total)
        start = stop
    if settling is not None:
        settling(total, total)
    return Gains(mean, error, groups)


class Tally:
    """Sums of gains over episodes for the parts of one class."""

    def __init__(self, columns: np.ndarray, structure: np.ndarray) -> None:
        self.columns = columns  # (target, part)
        self.sign = np.where(structure[columns.T], 1.0, -1.0)  # (part, target)
        num_targets, num_parts = columns.shape
        self.sums = np.zeros((0, num_parts, num_targets))
        self.counts = np.zeros((0, num_targets))

    def add(self, parts: np.ndarray, scores: Tensor, known: Tensor, group: np.ndarray) -> None:
        """Add log-likelihoods (structure * batch, target) under a structure and neighbours."""
        each = scores.unflatten(0, (1 + len(parts), -1)).double()
        gains = (each[0] - each[1:]).cpu().numpy()  # (part, batch, target)
        more = int(group.max()) + 1 - len(self.sums)
        if more > 0:
            self.sums = np.concatenate([self.sums, np.zeros((more, *self.sums.shape[1:]))])
            self.counts = np.concatenate([self.counts, np.zeros((more, self.counts.shape[1]))])
        first, here = np.unique(group, return_inverse=True)
        is_in = (here[None] == np.arange(len(first))[:, None]).astype(float)  # (group, batch)
        num_parts, batch, num_targets = gains.shape
        sums = is_in @ gains.swapaxes(0, 1).reshape(batch, num_parts * num_targets)
        self.sums[np.ix_(first, parts)] += sums.reshape(len(first), num_parts, num_targets)
        self.counts[first] += is_in @ known.cpu().numpy()

    def write(
        self, is_open: np.ndarray, mean: np.ndarray, error: np.ndarray, groups: np.ndarray
    ) -> None:
        """Write means and standard errors of the parts that were still open."""
        total = np.maximum(self.counts.sum(0), 1)  # (target,)
        means = self.sums.sum(0) / total  # (part, target)
        residual = self.sums - means * self.counts[:, None]
        num = np.maximum((self.counts > 0).sum(0), 1)  # (target,)
        spread = np.sqrt((residual**2).sum(0) * (num / np.maximum(num - 1, 1)))
        at = self.columns.T
        chosen = is_open[at]
        mean[at[chosen]] = (self.sign * means)[chosen]
        error[at[chosen]] = (spread / total)[chosen]
        groups[at[chosen]] = np.broadcast_to(num, at.shape)[chosen]
