"""Vectors: fields of two or three components that turn, attract each other and add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oocdm.envs.generated.family import (
    AbstractFamily,
    bounded,
    log_uniform,
    noise,
    one_of,
    signs,
    uniform,
)
from oocdm.envs.generated.mechanisms import AbstractTerm, RealMechanism, Term
from oocdm.envs.generated.source import Inputs, Source, of_others
from oocdm.envs.generated.terms import LIMIT, Mean, Product, Toward, mean_where, signed
from oocdm.schema import Real


@dataclass(frozen=True)
class Turned(AbstractTerm):
    """A vector turned by an angle in the plane of two of its components; of others, their mean.

    >>> print(Turned(0.5, Source("A", "w1", is_local=True), 90.0, (0, 1)))
    + 0.50 turn(self.w1 by 90 in 0-1)
    """

    weight: float
    source: Source
    degrees: float
    plane: tuple[int, int]

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it reads."""
        return (self.source,)

    def value(self, inputs: Inputs) -> np.ndarray:
        """The summand."""
        values, counts = inputs[self.source]
        values = values if self.source.is_local else mean_where(values, counts)
        angle, (first, second) = np.deg2rad(self.degrees), self.plane
        turned = values.copy()
        cos, sin = np.float32(np.cos(angle)), np.float32(np.sin(angle))
        turned[..., first] = cos * values[..., first] - sin * values[..., second]
        turned[..., second] = sin * values[..., first] + cos * values[..., second]
        return np.asarray(self.weight * turned)

    def __str__(self) -> str:
        what = f"{self.source}" if self.source.is_local else f"mean({self.source})"
        plane = "-".join(map(str, self.plane))
        return f"{signed(self.weight)} turn({what} by {self.degrees:.0f} in {plane})"


@dataclass(frozen=True)
class Dot(AbstractTerm):
    """The scalar product of two vectors, up to 4; of others, of their mean.

    >>> print(Dot(0.5, Source("A", "w1", is_local=True), Source("B", "w1", is_local=False)))
    + 0.50 limit(self.w1 . mean(B[*].w1), 4)
    """

    weight: float
    left: Source
    right: Source

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it reads."""
        return (self.left, self.right)

    def value(self, inputs: Inputs) -> np.ndarray:
        """The summand."""
        left, right = (_vector(inputs, s) for s in (self.left, self.right))
        return np.asarray(self.weight * np.clip((left * right).sum(-1), -LIMIT, LIMIT))

    def __str__(self) -> str:
        words = (f"{s}" if s.is_local else f"mean({s})" for s in (self.left, self.right))
        return f"{signed(self.weight)} limit({' . '.join(words)}, {LIMIT:.0f})"


def _vector(inputs: Inputs, source: Source) -> np.ndarray:
    values, counts = inputs[source]
    return values if source.is_local else mean_where(values, counts)


class Arrows:
    """Vectors of all classes that have some, and what reads them."""

    def __init__(self, family: AbstractFamily, dimensions: int) -> None:
        self.family, self.dimensions = family, dimensions
        self.all: list[Source] = []

    def add(self, c: str) -> Source:
        """A vector that turns, is drawn to others, or adds up what it reads."""
        source = self.family.add(c, Real(shape=(self.dimensions,)), self._draw)
        self.all.append(source)
        return source

    def add_drift(self, c: str) -> Source:
        """A vector that turns and drifts on its own."""
        source = self.family.add(c, Real(shape=(self.dimensions,)), self._drift)
        self.all.append(source)
        return source

    def add_action(self, c: str) -> Source:
        """An action with as many components."""
        field = Real(-1.0, 1.0, shape=(self.dimensions,), action=True)
        source = self.family.add(c, field)
        self.all.append(source)
        return source

    def add_dot(self, c: str) -> Source:
        """A number that reads the scalar product of two vectors, if there are two."""
        return self.family.add(c, Real(), self._dot)

    def _drift(self, own: Source, rng: np.random.Generator) -> RealMechanism:
        keep = uniform(rng, 0.7, 0.95)
        turn = self._turned(keep, own, rng, most=40.0)
        return RealMechanism(
            own, 0.0, (turn,), uniform(rng, 0.3, 0.6) * float(np.sqrt(1 - keep**2))
        )

    def _draw(self, own: Source, rng: np.random.Generator) -> RealMechanism:
        keep = uniform(rng, 0.4, 0.8)
        turns = rng.random() < 0.5
        terms: list[AbstractTerm] = [self._turned(keep, own, rng)] if turns else []
        pool = [s for s in self._pool(own, rng)][: rng.integers(1, 3)]
        terms += [self._term(own, s, rng) for s in pool]
        return bounded(RealMechanism(own, 0.0 if turns else keep, tuple(terms), noise(rng)))

    def _dot(self, own: Source, rng: np.random.Generator) -> RealMechanism:
        pool = self._pool(own, rng)
        left = next((s for s in pool if s.is_local), pool[0])
        right = next((s for s in pool if s != left), left)
        rest = self.family.pool(own, rng)[: rng.integers(0, 2)]
        terms = [Dot(signs(rng) * uniform(rng, 0.3, 0.7), left, right)]
        more = [self.family.term(s, rng) for s in rest]
        return RealMechanism(own, uniform(rng, 0.3, 0.7), (*terms, *more), noise(rng))

    def _pool(self, own: Source, rng: np.random.Generator) -> list[Source]:
        found = [s for s in self.all if s.class_name == own.class_name and s != own]
        found += map(of_others, self.all)
        return [found[i] for i in rng.permutation(len(found))]

    def _term(self, own: Source, source: Source, rng: np.random.Generator) -> AbstractTerm:
        weight = signs(rng) * log_uniform(rng, 0.2, 0.5)
        scalars = [s for s in self.family.pool(own, rng) if s.is_local and self._is_number(s)]
        value = Term(1.0, source) if source.is_local else Mean(1.0, source)
        kind = rng.choice(["turned", "scaled", "toward", "added"])
        if kind == "turned":
            return self._turned(weight, source, rng)
        if kind == "scaled" and scalars:
            return Product(2 * weight, Term(1.0, one_of(rng, scalars)), value)
        if kind == "toward" and not source.is_local:
            return Toward(abs(weight), source, own)
        return Term(weight, source) if source.is_local else Mean(weight, source)

    def _is_number(self, source: Source) -> bool:
        return not self.family.roles[source[:2]].field.num_codes

    def _turned(
        self, weight: float, source: Source, rng: np.random.Generator, most: float = 120.0
    ) -> Turned:
        first, second = sorted(rng.permutation(self.dimensions)[:2].tolist())
        return Turned(weight, source, uniform(rng, -most, most), (first, second))


class Vectors(AbstractFamily):
    """Two or three classes with vectors, numbers and actions.

    >>> print(*Vectors([0], varying=False, decoys=True).max_objects)
    A B
    """

    def _lay_out(self) -> None:
        rng = self.rng
        arrows = Arrows(self, int(rng.integers(2, 4)))
        for number in range(2 + (rng.random() < 0.25)):
            c = self.add_class(2, 6)
            drift = arrows.add_drift(c)
            arrows.add(c)
            if rng.random() < 0.6:
                arrows.add_dot(c) if rng.random() < 0.6 else self.add_drift(c)
            if number == 0 or rng.random() < 0.4:
                arrows.add_action(c) if rng.random() < 0.6 else self.add_action(c)
            if self.decoys and (number == 0 or rng.random() < 0.4):
                self.add_decoy(drift)
