"""How a field of a generated world comes to its next value: the mechanisms and their parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

CATEGORIES = 3
HOLDS = (0.2, 0.8)  # how often a condition holds, at least and at most
MARGIN, MAX_CLOSE = 0.02, 0.1  # what is close to a threshold, in spreads, and how often that is


class Source(NamedTuple):
    """What a mechanism reads: a field of the object itself or of all other objects of a class.

    >>> print(Source("B", "x1", is_local=False))
    B[*].x1
    """

    class_name: str
    field_name: str
    is_local: bool

    def __str__(self) -> str:
        return f"{'self' if self.is_local else f'{self.class_name}[*]'}.{self.field_name}"


# What a mechanism is shown of each of its sources: values, and which of them count. Both are
# (world, object) of a local source and (world, object, other object) of a global one.
Inputs = Mapping[Source, tuple[np.ndarray, np.ndarray]]
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


@dataclass(frozen=True)
class Term:
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


@dataclass(frozen=True)
class RealMechanism:
    """A sum of a part of the field itself, of terms, and of normal noise.

    >>> print(RealMechanism(Source("A", "x1", is_local=True), keep=0.95, noise=0.05))
    A.x1' = 0.95 self.x1 + N(0, sd 0.050)
    """

    own: Source  # the field itself
    keep: float
    terms: tuple[Term, ...] = ()
    noise: float = 0.0
    decoy_of: str | None = None  # the field that a decoy resembles

    @property
    def sources(self) -> list[Source]:
        """The causes of the field; it is shown nothing else."""
        read = [self.own] if self.keep else []
        read += [term.source for term in self.terms]
        return list(dict.fromkeys([*read, *(c.source for c in self.conditions)]))

    @property
    def conditions(self) -> list[Condition]:
        """What it asks of its causes."""
        return [term.condition for term in self.terms if term.condition is not None]

    def step(self, inputs: Inputs, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """The next values, (world, object)."""
        result = np.zeros(shape, dtype=np.float32)
        if self.keep:
            result += self.keep * inputs[self.own][0]
        for term in self.terms:
            result += term.value(inputs)
        if self.noise:
            result += self.noise * rng.standard_normal(shape, dtype=np.float32)
        return result

    def __str__(self) -> str:
        words = [f"+ {self.keep:.2f} {self.own}"] if self.keep else []
        words += [str(term) for term in self.terms]
        words += [f"+ N(0, sd {self.noise:.3f})"] if self.noise else []
        words += [f"(a decoy of {self.decoy_of})"] if self.decoy_of else []
        return f"{self.own.class_name}.{self.own.field_name}' = {' '.join(words).lstrip('+ ')}"


@dataclass(frozen=True)
class CategoryMechanism:
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

    def step(self, inputs: Inputs, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """The next categories, (world, object)."""
        chance = np.full(shape, self.low)
        for condition in self.conditions:
            holds = condition.holds(inputs)
            chance[holds if condition.source.is_local else holds.any(-1)] = self.high
        moved: np.ndarray = (inputs[self.own][0] + (rng.random(shape) < chance)) % CATEGORIES
        return moved

    def __str__(self) -> str:
        odds = ""
        if self.condition is not None:
            whose = "" if self.condition.source.is_local else "any "
            odds = f"{self.high:.2f} if {whose}{self.condition} else "
        step = f"{self.own} + 1 (mod {CATEGORIES}) with chance {odds}{self.low:.2f}"
        return f"{self.own.class_name}.{self.own.field_name}' = {step}"


Mechanism = RealMechanism | CategoryMechanism
