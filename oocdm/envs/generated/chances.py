"""Booleans and categories whose chances depend on causes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from oocdm.envs.generated.distribution import Choice
from oocdm.envs.generated.mechanisms import AbstractMechanism
from oocdm.envs.generated.source import Inputs, Source
from oocdm.envs.generated.terms import mean_where


@dataclass(frozen=True)
class Influence:
    """What one cause adds to the log-odds of the categories of a field.

    A number adds its value times the strength to one category, a mean over others likewise.
    A category `when` adds the strength to category `code` where it is the case; of others, the
    share of those in it, or all of them counted. Without `when` each category is drawn to its
    like: by itself (which persists) or by the shares of others (which are imitated).

    >>> print(Influence(1.5, Source("A", "b1", is_local=False), code=1, when=1, is_number=True))
    1.50 count(A[*].b1 is 1) for 1
    """

    strength: float
    source: Source
    code: int | None = None  # the category that it makes likely; None: each its like
    when: int | None = None  # of a source with categories
    is_number: bool = False  # of others that are counted, else their share

    def value(self, inputs: Inputs, num_codes: int) -> np.ndarray:
        """What it adds, (world, object, category)."""
        values, counts = inputs[self.source]
        if self.code is None:
            found = np.asarray(values[..., None] == np.arange(num_codes), np.float64)
            found = found if self.source.is_local else mean_where(found, counts)
            return self.strength * found
        found = values if self.when is None else np.asarray(values == self.when, np.float64)
        if not self.source.is_local:
            found = (found * counts).sum(2) if self.is_number else mean_where(found, counts)
        return np.asarray(self.strength * found[..., None] * (np.arange(num_codes) == self.code))

    def __str__(self) -> str:
        what = f"{self.source}" if self.when is None else f"{self.source} is {self.when}"
        if not self.source.is_local:
            what = f"{'count' if self.is_number else 'mean'}({what})"
        elif self.when is not None:
            what = f"[{what}]"
        target = "its like" if self.code is None else f"{self.code}"
        return f"{self.strength:.2f} {what} for {target}"


@dataclass(frozen=True)
class ChanceMechanism(AbstractMechanism):
    """One of some categories, drawn with log-odds that are a sum of influences.

    >>> own = Source("A", "b1", is_local=True)
    >>> print(ChanceMechanism(own, (0.0, -1.0), (Influence(2.0, own),)))
    A.b1' ~ log-odds (0.00, -1.00) + 2.00 self.b1 for its like
    """

    own: Source
    base: tuple[float, ...]
    influences: tuple[Influence, ...] = ()
    decoy_of: str | None = None

    @property
    def sources(self) -> list[Source]:
        """The causes of the field; it is shown nothing else."""
        return list(dict.fromkeys(i.source for i in self.influences))

    def distribution(self, inputs: Inputs, shape: tuple[int, ...]) -> Choice:
        """Of the next categories."""
        logits = np.broadcast_to(np.array(self.base), (*shape, len(self.base)))
        for influence in self.influences:
            logits = logits + influence.value(inputs, len(self.base))
        return Choice(np.asarray(softmax(logits, axis=-1)))

    def with_strength(self, source: Source, strength: float) -> ChanceMechanism:
        """The same with another strength of one influence; its sign stays."""
        influences = (
            replace(i, strength=float(np.copysign(strength, i.strength)))
            if i.source == source
            else i
            for i in self.influences
        )
        return replace(self, influences=tuple(influences))

    def __str__(self) -> str:
        words = [f"({', '.join(f'{b:.2f}' for b in self.base)})", *map(str, self.influences)]
        decoy = f" (a decoy of {self.decoy_of})" if self.decoy_of else ""
        name = f"{self.own.class_name}.{self.own.field_name}"
        return f"{name}' ~ log-odds {' + '.join(words)}{decoy}"
