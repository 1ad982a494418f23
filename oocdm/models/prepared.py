"""A dataset as a model reads it: inputs and targets, made once if they fit, else when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.models.allocator import NO_CEILING, Ceiling
from oocdm.models.features import Inputs, PerClass, Targets
from oocdm.models.memory import DEFAULT_MEMORY, Fit, largest_fit, measure
from oocdm.models.world_model import AbstractWorldModel

MADE_AT_ONCE = 512  # transitions: making takes several times what is kept of it


@dataclass(frozen=True)
class Kept:
    """Inputs and targets that are kept."""

    inputs: Inputs
    targets: Targets

    def rows(self, rows: Tensor | slice) -> Kept:
        """Those of some of the transitions."""
        return self.map(lambda t: t[rows])

    def map(self, change: Callable[[Tensor], Tensor]) -> Kept:
        """The same, with every tensor replaced by `change` of it."""
        return Kept(self.inputs.map(change), self.targets.map(change))

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors, always in the same order."""
        inputs, targets = self.inputs, self.targets
        each = (inputs.features, inputs.values, inputs.known, inputs.present, inputs.extra)
        return [t for x in (*each, targets.values, targets.known) for t in x.values()]

    @property
    def num_objects(self) -> np.ndarray:
        """How many objects each transition has."""
        present = [each.sum(1) for each in self.inputs.present.values()]
        return torch.stack(present).sum(0).cpu().numpy()

    @property
    def num_bytes(self) -> int:
        """What they take."""
        return sum(t.nbytes for t in self.tensors)


@dataclass(frozen=True)
class Deferred:
    """Inputs and targets that are made from the dataset when they are asked for."""

    model: AbstractWorldModel
    data: Dataset
    places: np.ndarray  # of the transitions in the dataset

    def rows(self, rows: Tensor | slice) -> Deferred:
        """Those of some of the transitions."""
        chosen = rows.numpy() if isinstance(rows, Tensor) else rows
        return replace(self, places=self.places[chosen])

    @property
    def num_objects(self) -> np.ndarray:
        """How many objects each transition has."""
        steps = self.data.starts[self.places]
        counts = [cells.places.counts[steps] for cells in self.data.cells.values()]
        return np.sum(counts, axis=0)

    @cached_property
    def inputs(self) -> Inputs:
        """What the model reads."""
        before = self.data.transitions(self.places).before
        return self.model.inputs(before.to(self.model.device))

    @cached_property
    def targets(self) -> Targets:
        """What the model predicts."""
        return self.model.targets(self.data.transitions(self.places).to(self.model.device))

    def make(self) -> Kept | None:
        """Make all of them, some at a time; None if transitions differ in shape."""
        if len(self.places) <= MADE_AT_ONCE:
            return Kept(self.inputs, self.targets)
        num, made = len(self.places), None
        for start in range(0, num, MADE_AT_ONCE):
            part = self.rows(slice(start, start + MADE_AT_ONCE))
            some = Kept(part.inputs, part.targets)
            made = made or some.map(lambda t: t.new_empty(num, *t.shape[1:]))
            for into, values in zip(made.tensors, some.tensors, strict=True):
                if into.shape[1:] != values.shape[1:]:
                    return None
                into[start : start + len(values)] = values
        return made


@dataclass(frozen=True)
class Budget:
    """What work on transitions may take at once.

    Where more objects of a class are to be predicted than `targets`, so many are drawn for each
    transition; all of them are seen by others as ever.

    >>> Budget().targets
    64
    """

    working: int = DEFAULT_MEMORY // 16  # bytes of a piece of work, which is soon done
    largest: int = DEFAULT_MEMORY // 2  # bytes of a piece of work that cannot be divided
    kept: int = DEFAULT_MEMORY // 4  # bytes of inputs and targets
    targets: int = 64
    ceiling: Ceiling = NO_CEILING  # of resident memory, between pieces of divided work


@dataclass(frozen=True)
class Prepared:
    """Inputs and targets of many transitions, and the cluster that each comes from."""

    source: Kept | Deferred
    cluster: Tensor  # (transition,): those of one are not independent
    budget: Budget = field(default_factory=Budget)
    # How much of each kind of work fits into the budget: found once for all parts of the data.
    fits: dict[str, Fit] = field(default_factory=dict)

    @staticmethod
    def of(
        model: AbstractWorldModel,
        data: Dataset,
        rows: np.ndarray | slice | None = None,
        budget: Budget | None = None,
    ) -> Prepared:
        """Prepare a dataset, or some of its transitions, for a model.

        They are kept if the budget has room for them and all transitions have the same shape; else
        they are made when needed.
        """
        places = np.arange(len(data)) if rows is None else np.arange(len(data))[rows]
        source = Deferred(model, data, places)
        made = Prepared(source, torch.as_tensor(data.clusters[places]), budget or Budget())
        if len(places) and made.num_bytes > made.budget.kept:
            return made
        kept = source.make()
        return made if kept is None else replace(made, source=kept)

    @property
    def num_bytes(self) -> int:
        """What inputs and targets take if they are kept."""
        one = self.rows(self.fullest(1))
        return Kept(one.inputs, one.targets).num_bytes * len(self)

    @property
    def inputs(self) -> Inputs:
        """What the model reads."""
        return self.source.inputs

    @property
    def targets(self) -> Targets:
        """What the model predicts."""
        return self.source.targets

    def __len__(self) -> int:
        return len(self.cluster)

    def rows(self, rows: Tensor | slice) -> Prepared:
        """Some of the transitions."""
        return replace(self, source=self.source.rows(rows), cluster=self.cluster[rows])

    def below(self, ceiling: Ceiling) -> Prepared:
        """The same, with a ceiling of resident memory."""
        return replace(self, budget=replace(self.budget, ceiling=ceiling))

    def fullest(self, num: int) -> Tensor:
        """The places of those with the most objects, as many as asked for if there are."""
        return torch.as_tensor((-self.source.num_objects).argsort(kind="stable")[:num])

    def chunks(
        self, size: int, work: Callable[[Prepared], object] | None = None, name: str | None = None
    ) -> Iterator[Prepared]:
        """The transitions in order, at most `size` at a time, fewer if `work` on them is large.

        Work with a name, which must be the largest of that name, is measured once for all parts
        of the data.
        """

        def taken(num: int) -> int:
            some = self.rows(self.fullest(num))
            return measure(lambda: None if work is None else work(some)).peak

        def find() -> Fit:
            # What is done with the outcome of work takes about as much again.
            limit = min(self.budget.working, self.budget.largest // 4)
            return largest_fit(taken, min(size, len(self)), limit)

        if work is not None and len(self):
            fit = find() if name is None else self.fit(name, find)
            size = max(min(fit.size, size), 1)
        for i in range(0, len(self), size):
            yield self.rows(slice(i, i + size))
            if work is not None:
                self.budget.ceiling.hold()

    def fit(self, work: str, find: Callable[[], Fit]) -> Fit:
        """How much of some work fits into the budget, as `find` tells when it is first asked."""
        if work not in self.fits:
            self.fits[work] = find()
        return self.fits[work]


@dataclass(frozen=True)
class Receivers:
    """Objects that were drawn as targets, and what each counts: an unbiased sample of all.

    `places[class]` is (batch, receiver), `weight[class]` (batch, 1, 1): of how many objects each
    one is drawn. Classes that are small are left out.
    """

    places: PerClass
    weight: PerClass

    @staticmethod
    def draw(model: AbstractWorldModel, batch: Prepared, rng: np.random.Generator) -> Receivers:
        """Draw of each transition as many as the budget says, of those with anything to predict.

        Small classes, and models that predict all objects at once, draw nothing.
        """
        places, weight, most = {}, {}, batch.budget.targets
        for c, flags in batch.targets.known.items() if model.takes_receivers else ():
            if flags.shape[1] <= most or flags.shape[2] == 0:
                continue
            counts = flags.any(2)
            order = torch.as_tensor(rng.random(counts.shape)).to(counts.device)
            first = order.masked_fill(~counts, 2.0).topk(most, dim=1, largest=False).indices
            places[c] = first.sort(dim=1).values
            weight[c] = (counts.sum(1) / most).clamp(min=1.0)[:, None, None]
        return Receivers(places, weight)

    def rows(self, rows: slice) -> Receivers:
        """Those of some of the transitions."""
        return Receivers(*({c: t[rows] for c, t in x.items()} for x in (self.places, self.weight)))

    def of(self, batch: Prepared, inputs: Inputs | None = None) -> tuple[Inputs, Targets]:
        """Inputs, or others in their place, and targets with these objects to predict."""
        read = batch.inputs if inputs is None else inputs
        if not self.places:
            return read, batch.targets
        return replace(read, receivers=self.places), batch.targets.at(self.places)

    def repeat(self, times: Mapping[str, int]) -> Receivers:
        """Those of these classes, all of them so many times."""
        return Receivers(
            {c: t.repeat(times[c], 1) for c, t in self.places.items() if c in times},
            {c: t.repeat(times[c], 1, 1) for c, t in self.weight.items() if c in times},
        )

    def weigh(self, scores: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Scores (batch, receiver, target), or flags, as estimates of those of all objects."""
        return {c: t * self.weight[c] if c in self.weight else t for c, t in scores.items()}


def known_counts(targets: Targets) -> dict[str, Tensor]:
    """How many values of each target are known, at least 1: (target,) for each class."""
    return {c: known.sum((0, 1)).clamp(min=1) for c, known in targets.known.items()}


def mean_scores(scores: Mapping[str, Tensor], counts: Mapping[str, Tensor]) -> Tensor:
    """Mean log-likelihood of each target over its known values, all classes in order: (target,)."""
    return torch.cat([scores[c].sum((0, 1)) / counts[c] for c in scores])
