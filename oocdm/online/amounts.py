"""How much is collected when, how much of it is kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from oocdm.data import Dataset
from oocdm.errors import ModelError
from oocdm.reading import Count, Probability, Range, check_fields


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """The transitions of all rounds; the first one has `first` of them, an eighth if None.

    Each later round brings `growth` times as many as are kept by then, less those. At most the
    newest `buffer` are kept, all if None. Rounds come in two parts or more, each of at most
    as many transitions as `num_worlds` episodes side by side may have.

    >>> Amounts(steps=20_000).round_ends
    (2500, 5000, 10000, 20000)
    >>> Amounts(steps=1000, first=100, buffer=200).round_ends
    (100, 200, 400, 600, 800, 1000)
    """

    steps: Count
    first: Count | None = None
    growth: Annotated[float, Range(above=1)] = 2.0
    explore: Probability = 0.2
    buffer: Count | None = None
    num_worlds: Count = 8

    def __post_init__(self) -> None:
        check_fields(self, "learn_online", ModelError)
        if self.first is not None and self.first > self.steps:
            raise ModelError(
                f"learn_online: `first`: expected at most `steps`, {self.steps}, got {self.first}. "
                "It is how many of them the random policy collects before there is a model."
            )

    @property
    def round_ends(self) -> tuple[int, ...]:
        """How many transitions there are in all after each round.

        What would be left for less than half of a round more is collected with the one before.
        """
        ends = [math.ceil(self.steps / 8) if self.first is None else self.first]
        while ends[-1] < self.steps:
            kept = min(ends[-1], self.buffer or self.steps)
            new = math.ceil((self.growth - 1) * kept)
            rest = self.steps - ends[-1]
            ends.append(self.steps if rest < 1.5 * new else ends[-1] + new)
        return tuple(ends)

    def parts(self, number: int, episode_steps: int) -> list[int]:
        """How many transitions each part of a round brings, of rounds from 0 on.

        >>> Amounts(steps=1000, first=800, num_worlds=3).parts(0, episode_steps=100)
        [266, 267, 267]
        """
        ends = (0, *self.round_ends)
        start, end = ends[number : number + 2]
        needed = math.ceil((end - start) / (self.num_worlds * episode_steps))
        count = min(max(needed, 2), end - start)  # a fit needs two episodes
        return np.diff(np.linspace(0, end - start, count + 1).astype(int)).tolist()

    def kept(self, data: Dataset) -> Dataset:
        """The newest episodes of a dataset, which are its last: as many as the buffer can hold.

        The last two are kept however long they are: a fit needs as many.

        >>> import oocdm
        >>> data = oocdm.collect(oocdm.make("block"), steps=90, seed=0)
        >>> Amounts(steps=90, buffer=70).kept(data)
        Dataset(2 episodes, 60 transitions; Block: 5 objects, Total: 1 object)
        """
        if self.buffer is None or len(data) <= self.buffer:
            return data
        ids, lengths = np.unique(data.episode_of, return_counts=True)
        newest = np.cumsum(lengths[::-1]) <= self.buffer
        count = max(int(newest.sum()), 2)
        return Dataset.joined([data.select_episodes(ids[-count:])])
