"""How a field of a generated world comes to its next value: the mechanisms and their parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from oocdm.envs.generated.distribution import Distribution, Jumping, NextCategory, Normal
from oocdm.envs.generated.source import Inputs, Source

CATEGORIES = 3
HOLDS = (0.2, 0.8)  # how often a condition holds, at least and at most
MARGIN, MAX_CLOSE = 0.02, 0.1  # what is close to a threshold, in spreads, and how often that is


Sample = Mapping[tuple[str, str], np.ndarray]  # values that each field takes in episodes


@dataclass(frozen=True)
class Condition:
    """A field is above a threshold or, if the limit is a whole number, in that category.

    >>> print(Condition(Source("B", "x1", is_local=False), 0.25))
    B[*].x1 > 0.25
    """

    source: Source
    limit: float

    def holds(self, inputs: Inputs) -> np.ndarray:
        """Where it holds, among the objects that count."""
        values, counts = inputs[self.source]
        return counts & (values == self.limit if self._is_category else values > self.limit)

    def is_fair(self, inputs: Inputs) -> bool:
        """Whether it holds in part of the cases, and few of them are close calls."""
        values, counts = inputs[self.source]
        margin = 0.0 if self._is_category else MARGIN * values[counts].std()
        close = np.abs(values[counts] - self.limit) < margin
        share = self.holds(inputs)[counts].mean()
        return bool(HOLDS[0] <= share <= HOLDS[1] and close.mean() <= MAX_CLOSE)

    @property
    def _is_category(self) -> bool:
        return isinstance(self.limit, int)

    def __str__(self) -> str:
        limit = f"is {self.limit}" if self._is_category else f"> {self.limit:.2f}"
        return f"{self.source} {limit}"


class AbstractTerm(ABC):
    """One summand of a mechanism."""

    @property
    @abstractmethod
    def sources(self) -> tuple[Source, ...]:
        """All that it reads."""

    @abstractmethod
    def value(self, inputs: Inputs) -> np.ndarray:
        """The summand, (world, object) and the axis of vectors."""


@dataclass(frozen=True)
class Term(AbstractTerm):
    """One summand of a mechanism, "linear", "gated", "largest" or "count".

    A local source adds its value, if there is a condition only where that holds. A global one
    adds the largest of its values, or how many of them fulfil the condition.

    >>> gate = Condition(Source("A", "k1", is_local=True), 2)
    >>> print(Term(0.5, Source("A", "x2", is_local=True), gate))
    + 0.50 self.x2 [self.k1 is 2]
    """

    weight: float
    source: Source
    condition: Condition | None = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it reads."""
        asked = () if self.condition is None else (self.condition.source,)
        return (self.source, *asked)

    @property
    def kind(self) -> str:
        """Which of the four it is."""
        if self.source.is_local:
            return "linear" if self.condition is None else "gated"
        return "largest" if self.condition is None else "count"

    def value(self, inputs: Inputs) -> np.ndarray:
        """The summand, (world, object)."""
        values, counts = inputs[self.source]
        holds = None if self.condition is None else self.condition.holds(inputs)
        if holds is not None:
            values = values * holds if self.source.is_local else holds.sum(-1, dtype=np.float32)
        elif not self.source.is_local:
            largest = np.where(counts, values, np.float32(-np.inf)).max(-1)
            values = np.where(counts.any(-1), largest, np.float32(0))
        return self.weight * values

    def __str__(self) -> str:
        words = {
            "linear": f"{self.source}",
            "gated": f"{self.source} [{self.condition}]",
            "largest": f"max({self.source})",
            "count": f"count({self.condition})",
        }
        return f"{'-' if self.weight < 0 else '+'} {abs(self.weight):.2f} {words[self.kind]}"


class AbstractMechanism(ABC):
    """How one field, `own`, comes to its next value."""

    own: Source

    @property
    @abstractmethod
    def sources(self) -> list[Source]:
        """The causes of the field; it is shown nothing else."""

    @abstractmethod
    def distribution(self, inputs: Inputs, shape: tuple[int, ...]) -> Distribution:
        """Of the next values, which have this shape: (world, object), and an axis of vectors."""


@dataclass(frozen=True)
class RealMechanism(AbstractMechanism):
    """A sum of a part of the field itself, of terms, and of normal noise; it may have jumps.

    >>> print(RealMechanism(Source("A", "x1", is_local=True), keep=0.95, noise=0.05))
    A.x1' = 0.95 self.x1 + N(0, sd 0.050)
    """

    own: Source
    keep: float
    terms: tuple[AbstractTerm, ...] = ()
    noise: float = 0.0
    decoy_of: str | None = None  # the field that a decoy resembles
    jump: float = 0.0  # standard deviation of jumps, and how often there is one
    jump_chance: float = 0.0

    @property
    def sources(self) -> list[Source]:
        """The causes of the field; it is shown nothing else."""
        read = [self.own] if self.keep else []
        return list(dict.fromkeys([*read, *(s for term in self.terms for s in term.sources)]))

    @property
    def conditions(self) -> list[Condition]:
        """What it asks of its causes."""
        terms = [term for term in self.terms if isinstance(term, Term)]
        return [term.condition for term in terms if term.condition is not None]

    def distribution(self, inputs: Inputs, shape: tuple[int, ...]) -> Normal | Jumping:
        """Of the next values."""
        result = np.zeros(shape, dtype=np.float32)
        if self.keep:
            result += self.keep * inputs[self.own][0]
        for term in self.terms:
            result += term.value(inputs)
        if self.jump:
            return Jumping(result, self.noise, self.jump_chance, self.jump)
        return Normal(result, self.noise)

    def __str__(self) -> str:
        words = [f"+ {self.keep:.2f} {self.own}"] if self.keep else []
        words += [str(term) for term in self.terms]
        words += [f"+ N(0, sd {self.noise:.3f})"] if self.noise else []
        if self.jump:
            words += [f"+ N(0, sd {self.jump:.2f}) with chance {self.jump_chance:.3f}"]
        words += [f"(a decoy of {self.decoy_of})"] if self.decoy_of else []
        text = " ".join(words).removeprefix("+ ") or "0"
        return f"{self.own.class_name}.{self.own.field_name}' = {text}"


@dataclass(frozen=True)
class CategoryMechanism(AbstractMechanism):
    """A step to the next category, with one chance where a condition holds, else with another.

    Others fulfil a condition if any of them does. Chances of 0 and 1 are no noise.

    >>> print(CategoryMechanism(Source("A", "k1", is_local=True), None, 0.2, 0.2))
    A.k1' = self.k1 + 1 (mod 3) with chance 0.20
    """

    own: Source
    condition: Condition | None
    high: float
    low: float

    @property
    def sources(self) -> list[Source]:
        """The causes of the field; it is shown nothing else."""
        return [self.own, *(c.source for c in self.conditions)]

    @property
    def conditions(self) -> list[Condition]:
        """What it asks of its causes."""
        return [] if self.condition is None else [self.condition]

    def distribution(self, inputs: Inputs, shape: tuple[int, ...]) -> NextCategory:
        """Of the next categories."""
        chance = np.full(shape, self.low)
        for condition in self.conditions:
            holds = condition.holds(inputs)
            chance[holds if condition.source.is_local else holds.any(-1)] = self.high
        return NextCategory(inputs[self.own][0], chance, CATEGORIES)

    def __str__(self) -> str:
        odds = ""
        if self.condition is not None:
            whose = "" if self.condition.source.is_local else "any "
            odds = f"{self.high:.2f} if {whose}{self.condition} else "
        step = f"{self.own} + 1 (mod {CATEGORIES}) with chance {odds}{self.low:.2f}"
        return f"{self.own.class_name}.{self.own.field_name}' = {step}"
