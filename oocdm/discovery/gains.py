"""How much each element of a structure helps, and how sure that is.

The gain of an edge is the log-likelihood of its target with the edge less that without it, a
mean over transitions that the predictors were not fitted on: from the full graph, the paper's
class-level conditional mutual information. Transitions of one episode are not independent, so
standard errors are made from sums over whole episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from oocdm.data.clusters import MIN_CLUSTERS
from oocdm.errors import ModelError
from oocdm.graph import Neighbours, Structure
from oocdm.models.memory import largest_fit, measure, say_memory
from oocdm.models.prepared import Prepared, Receivers
from oocdm.models.world_model import AbstractWorldModel, NeighboursPredictor

CHUNK = 256  # transitions scored at once: few enough to stay in the processor's caches
COMPOSED_SHARE = 2  # half of the memory may be for weights of neighbours, whatever the transitions
PROMISING_ERRORS, PROMISING_NATS = 3.0, 0.005  # what surely is more than nothing
EXTREME = 1e30  # nats, in place of infinitely many

# Told how many of the tested elements are settled, and how many there are.
OnSettled = Callable[[int, int], None]


@dataclass(frozen=True)
class Gains:
    """Nats that each element adds, with standard errors; `groups` is the number of episodes."""

    mean: np.ndarray
    error: np.ndarray
    groups: np.ndarray  # that the error of each element was made from

    @property
    def is_promising(self) -> np.ndarray:
        """Which elements surely add something, however little."""
        return self.mean > np.maximum(PROMISING_ERRORS * self.error, PROMISING_NATS)

    @staticmethod
    def none(num: int) -> Gains:
        """Of so many elements, none of which is measured yet."""
        return Gains(np.zeros(num), np.zeros(num), np.zeros(num, dtype=int))

    @staticmethod
    def joined(parts: Sequence[Gains]) -> Gains:
        """Those of some elements after those of others."""
        columns = zip(*((g.mean, g.error, g.groups) for g in parts), strict=True)
        return Gains(*(np.concatenate(column) for column in columns))

    def first(self, num: int) -> Gains:
        """Those of the first elements, such as the edges of a structure."""
        return Gains(self.mean[:num], self.error[:num], self.groups[:num])

    def replaced(self, other: Gains, where: np.ndarray) -> Gains:
        """These gains, with those of another measurement in some places."""
        return Gains(
            np.where(where, other.mean, self.mean),
            np.where(where, other.error, self.error),
            np.where(where, other.groups, self.groups),
        )


def gains_of_clusters(gains: Tensor, known: Tensor, cluster: Tensor) -> Gains:
    """Means a value and their standard errors, from sums over whole episodes.

    `gains` and `known`, how many values each sums over, are (transition, target), `cluster` is
    (transition,).

    >>> ones = torch.ones(4, 1)
    >>> said = gains_of_clusters(ones, ones, torch.tensor([0, 0, 1, 1]))
    >>> said.mean.tolist(), said.error.tolist(), said.groups.tolist()
    ([1.0], [0.0], [2])
    """
    groups, here = cluster.cpu().unique(return_inverse=True)
    zeros = torch.zeros(len(groups), gains.shape[1], dtype=torch.float64)
    sums = zeros.index_add(0, here, gains.cpu().double()).numpy()
    counts = zeros.index_add(0, here, known.cpu().double()).numpy()
    total, num = np.maximum(counts.sum(0), 1), np.maximum((counts > 0).sum(0), 1)
    mean = sums.sum(0) / total
    spread = ((sums - mean * counts) ** 2).sum(0) * num / np.maximum(num - 1, 1)
    return Gains(mean, np.sqrt(spread) / total, num)


@dataclass(frozen=True)
class Stopping:
    """When to stop sampling an element: its gain is `errors` standard errors away from `effect`.

    Looks are taken whenever the number of transitions has doubled. What happens in one step of
    two hundred may not have shown itself yet, so no element is given up before `patience`
    transitions. They must come in random order.
    """

    effect: np.ndarray
    errors: float = 4.5
    first_look: int = 512
    patience: int = 1024

    def is_clear(self, gains: Gains, seen: int) -> np.ndarray:
        """Which elements need no more transitions."""
        is_far = np.abs(gains.mean - self.effect) > self.errors * gains.error
        is_settled = (gains.mean > self.effect) | (seen >= self.patience)
        return is_far & is_settled & (gains.groups >= MIN_CLUSTERS)


@dataclass(frozen=True)
class Portions:
    """How many neighbours of a structure, and how many transitions, are scored at once."""

    elements: int
    rows: int
    taken: int  # bytes

    def checked(self) -> Portions:
        """These, or a `ModelError` if not even one fits."""
        if not (self.elements and self.rows):
            raise ModelError(
                f"discover: one transition under two structures takes {say_memory(self.taken)} of "
                "memory, more than there is for it. Leave out fields or objects, or fit with a "
                "larger `memory`."
            )
        return self


@torch.no_grad()
def portions(model: AbstractWorldModel, data: Prepared) -> Portions:
    """What fits into the budget of the data, measured once for all discoveries with them."""
    full, schema = model.largest(), model.schema
    turned = {
        c: np.flatnonzero(full.flags[model.layout.of_class(c)].any(0))
        for c in schema.classes
        if schema.targets(c)
    }

    @cache
    def taken(num_elements: int, num_rows: int) -> int:
        some = {c: each[:num_elements] for c, each in turned.items()}
        chunk = data.rows(data.fullest(num_rows))
        drawn = Receivers.draw(model, chunk, np.random.default_rng(0))

        def score() -> None:
            predict = model.compile_neighbours(Neighbours(full, some))
            _scores(predict, chunk, drawn, some, None)

        return measure(score).peak

    limits = (data.budget.working, data.budget.largest)
    most = max(map(len, turned.values()), default=1)
    elements = data.fit(
        "elements",
        lambda: largest_fit(lambda n: taken(n, 1), most, limits[0] // COMPOSED_SHARE, limits[1]),
    )
    if not elements.size:
        return Portions(0, 0, elements.taken)
    found = data.fit(
        "rows",
        lambda: largest_fit(lambda n: taken(elements.size, n), min(CHUNK, len(data)), *limits),
    )
    return Portions(elements.size, min(found.size, CHUNK), max(elements.taken, found.taken))


def _in_turn(
    elements: Mapping[str, np.ndarray], at_once: int
) -> Iterator[tuple[bool, dict[str, np.ndarray]]]:
    """Elements of each class, at most so many at once, and whether they are the first ones."""
    most = max(map(len, elements.values()), default=0)
    yield True, {c: each[:at_once] for c, each in elements.items()}
    for start in range(at_once, most, at_once):
        some = {c: each[start : start + at_once] for c, each in elements.items()}
        yield False, {c: each for c, each in some.items() if len(each)}


def _scores(
    predict: NeighboursPredictor,
    chunk: Prepared,
    drawn: Receivers,
    elements: Mapping[str, np.ndarray],
    resolution: Mapping[str, Tensor] | None,
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Scores under a structure and its neighbours, and what is known, as if of all objects."""
    times = {c: 1 + len(each) for c, each in elements.items()}
    inputs, targets = drawn.of(chunk)
    scores = predict(inputs).log_prob(targets.repeat(times), resolution)
    return drawn.repeat(times).weigh(scores), drawn.weigh(targets.known)


@torch.no_grad()
def element_gains(
    model: AbstractWorldModel,
    data: Prepared,
    structure: Structure,
    resolution: Mapping[str, Tensor] | None,
    tested: Structure | None = None,
    stopping: Stopping | None = None,
    on_settled: OnSettled | None = None,
) -> Gains:
    """What each element adds to the log-likelihood of its target, all else as in `structure`.

    Targets do not share predictors, so one neighbour of the structure can turn an element of each.
    Only `tested` elements are measured, all of them by default; the others have a gain of 0.
    """
    layout, flags = structure.layout, structure.flags
    classes = [c for c in model.schema.classes if len(layout.of_class(c))]
    tallies = {c: Tally(layout.of_class(c), flags) for c in classes}
    is_open = np.ones(len(flags), dtype=bool) if tested is None else tested.flags.copy()
    total, group = int(is_open.sum()), data.cluster.cpu().numpy()
    gains, start, portion = Gains.none(len(flags)), 0, portions(model, data).checked()
    while start < len(data) and is_open.any():
        stop = len(data)
        if stopping is not None:
            stop = min(stop, max(2 * start, stopping.first_look))
        elements = {c: np.flatnonzero(is_open[tallies[c].columns].any(0)) for c in classes}
        for is_first, some in _in_turn(elements, portion.elements):
            predict = model.compile_neighbours(Neighbours(structure, some))
            for rows in range(start, stop, portion.rows):
                chunk = data.rows(slice(rows, min(rows + portion.rows, stop)))
                # The same objects for all neighbours: they are compared.
                drawn = Receivers.draw(model, chunk, np.random.default_rng(rows))
                scores, known = _scores(predict, chunk, drawn, some, resolution)
                for c, each in some.items():
                    tally, here = tallies[c], group[rows : rows + len(chunk)]
                    counted = tally.by_target(known[c])
                    if not is_first:
                        counted = torch.zeros_like(counted)  # as they were counted already
                    tally.add(each, tally.by_target(scores[c]), counted, here)
                if portion.rows < CHUNK:
                    del scores, known
                    data.budget.ceiling.hold()
        for tally in tallies.values():
            tally.write(is_open, gains)
        if stopping is not None:
            is_open &= ~stopping.is_clear(gains, stop)
        start = stop
        if on_settled is not None:
            on_settled(total if start == len(data) else total - int(is_open.sum()), total)
    return gains


@torch.no_grad()
def target_gains(
    model: AbstractWorldModel,
    data: Prepared,
    structure: Structure,
    other: Structure,
    resolution: Mapping[str, Tensor] | None,
    most: int,
) -> dict[str, Gains]:
    """What another structure adds to each target, in the order of `Layout.of_class`.

    It is seen on the first transitions, at `most` so many.
    """
    data = data.rows(slice(0, most))
    layout, group = structure.layout, data.cluster.cpu().numpy()
    classes = [c for c in model.schema.classes if len(layout.of_class(c))]
    # One element in place of all: what is turned is everything at once.
    tallies = {c: Tally(layout.of_class(c)[:, :1], np.zeros(len(layout))) for c in classes}
    both = [model.structures(each) for each in (structure, other)]
    largest = [model.structures(model.largest())] * 2
    start = 0
    for chunk in data.chunks(CHUNK, lambda some: model(some.inputs, *largest), "two structures"):
        drawn = Receivers.draw(model, chunk, np.random.default_rng(start))
        inputs, targets = drawn.of(chunk)
        scores = [drawn.weigh(p.log_prob(targets, resolution)) for p in model(inputs, *both)]
        known, here = drawn.weigh(targets.known), group[start : start + len(chunk)]
        for c, tally in tallies.items():
            pair = torch.cat([tally.by_target(each[c]) for each in scores])
            tally.add(np.zeros(1, dtype=int), pair, tally.by_target(known[c]), here)
        start += len(chunk)
    return {c: tally.gains() for c, tally in tallies.items()}


class Tally:
    """Sums of gains over episodes for the elements of one class."""

    def __init__(self, columns: np.ndarray, structure: np.ndarray) -> None:
        self.columns = columns  # (target, element)
        self.sign = np.where(structure[columns.T], 1.0, -1.0)  # (element, target)
        num_targets, num_elements = columns.shape
        self.sums = np.zeros((0, num_elements, num_targets))
        self.counts = np.zeros((0, num_targets))

    def by_target(self, values: Tensor) -> Tensor:
        """Values (batch, object, target) as the columns have targets: (batch, target).

        Those of classes are sums over their objects, those of single variables stand by
        themselves; places behind them that never hold an object are no variables.
        """
        is_of_class = values.shape[2] == len(self.columns)
        return values.sum(1) if is_of_class else values.flatten(1)[:, : len(self.columns)]

    def add(self, elements: np.ndarray, scores: Tensor, known: Tensor, group: np.ndarray) -> None:
        """Add log-likelihoods (structure * batch, target) under a structure and neighbours."""
        each = scores.unflatten(0, (1 + len(elements), -1)).double()
        gains = (each[0] - each[1:]).cpu().numpy()  # (element, batch, target)
        if not np.isfinite(gains.sum()):
            # An extreme value that all find impossible tells nothing; one gain of any size no more
            # than that one transition can.
            gains = np.nan_to_num(gains, nan=0.0, posinf=EXTREME, neginf=-EXTREME)
        more = int(group.max()) + 1 - len(self.sums)
        if more > 0:
            self.sums = np.concatenate([self.sums, np.zeros((more, *self.sums.shape[1:]))])
            self.counts = np.concatenate([self.counts, np.zeros((more, self.counts.shape[1]))])
        first, here = np.unique(group, return_inverse=True)
        is_in = (here[None] == np.arange(len(first))[:, None]).astype(float)  # (group, batch)
        num_elements, batch, num_targets = gains.shape
        sums = is_in @ gains.swapaxes(0, 1).reshape(batch, num_elements * num_targets)
        self.sums[np.ix_(first, elements)] += sums.reshape(len(first), num_elements, num_targets)
        self.counts[first] += is_in @ known.cpu().numpy()

    def write(self, is_open: np.ndarray, gains: Gains) -> None:
        """Write means and standard errors of the elements that were still open."""
        means, errors, num = self._moments()
        at = self.columns.T
        chosen = is_open[at]
        gains.mean[at[chosen]] = (self.sign * means)[chosen]
        gains.error[at[chosen]] = errors[chosen]
        gains.groups[at[chosen]] = np.broadcast_to(num, at.shape)[chosen]

    def gains(self) -> Gains:
        """What the neighbour adds to each target, where there is but one for all elements."""
        means, errors, num = self._moments()
        return Gains(-means[0], errors[0], num)

    def _moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means and standard errors, (element, target), and the number of groups, (target,)."""
        total = np.maximum(self.counts.sum(0), 1)  # (target,)
        means = self.sums.sum(0) / total
        residual = self.sums - means * self.counts[:, None]
        num = np.maximum((self.counts > 0).sum(0), 1)
        spread = np.sqrt((residual**2).sum(0) * (num / np.maximum(num - 1, 1)))
        return means, spread / total, num
