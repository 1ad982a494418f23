"""Neighbours: velocities follow a mean over those within a radius, as in flocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oocdm.envs.generated.family import (
    AbstractFamily,
    Draw,
    log_uniform,
    noise,
    one_of,
    signs,
    uniform,
)
from oocdm.envs.generated.mechanisms import AbstractTerm, RealMechanism, Term
from oocdm.envs.generated.source import Inputs, Source, of_others
from oocdm.envs.generated.start import Start
from oocdm.envs.generated.terms import mean_where, signed
from oocdm.schema import Real


@dataclass(frozen=True)
class NeighbourMean(AbstractTerm):
    """The mean of a field over those other objects that are within a radius; 0 without any.

    `positions` are pairs of fields, the object's own and that of others, one a dimension. The
    mean may be relative to a field of the object itself.

    >>> own, others = (Source("A", "x1", is_local=i) for i in (True, False))
    >>> print(NeighbourMean(0.5, Source("A", "x2", is_local=False), ((own, others),), 1.5))
    + 0.50 mean(A[*].x2 of those with |A[*].x1 - self.x1| < 1.50)
    """

    weight: float
    source: Source
    positions: tuple[tuple[Source, Source], ...]
    radius: float
    less: Source | None = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it reads."""
        less = () if self.less is None else (self.less,)
        return (self.source, *less, *(s for pair in self.positions for s in pair))

    def value(self, inputs: Inputs) -> np.ndarray:
        """The summand."""
        values, counts = inputs[self.source]
        square = sum(differences(inputs, *pair) ** 2 for pair in self.positions)
        near = counts & (square < self.radius**2)
        found = mean_where(values, near)
        if self.less is not None:
            found = np.where(near.any(2), found - inputs[self.less][0], np.float32(0))
        return self.weight * found

    def __str__(self) -> str:
        what = f"{self.source}" if self.less is None else f"{self.source} - {self.less}"
        where = ", ".join(f"{other} - {own}" for own, other in self.positions)
        return f"{signed(self.weight)} mean({what} of those with |{where}| < {self.radius:.2f})"


def differences(inputs: Inputs, own: Source, other: Source) -> np.ndarray:
    """How far others are from an object along one dimension, (world, object, other)."""
    return np.asarray(inputs[other][0] - inputs[own][0][..., None])


class Flock:
    """Fields of a class whose objects move, with velocities that follow their neighbours'.

    Or they are drawn to the places of neighbours, or follow a signal of theirs. Signals may be
    added, of other classes too if `places` holds where their objects are.
    """

    def __init__(self, family: AbstractFamily, c: str, dimensions: int) -> None:
        self.family = family
        self.velocities = [family.add(c, Real(), self._velocity(i)) for i in range(dimensions)]
        self.positions = [
            family.add(c, Real(), position_draw(v), Start(-2.0, 2.0)) for v in self.velocities
        ]
        self.places = {c: self.positions}
        self.signals: list[Source] = []

    def _velocity(self, axis: int) -> Draw:
        def draw(own: Source, rng: np.random.Generator) -> RealMechanism:
            gathered, keep = self._gathered(axis, rng), uniform(rng, 0.4, 0.8)
            pool = [s for s in self.family.pool(own, rng) if s not in gathered.sources]
            pushes = [self.family.term(s, rng) for s in pool[: rng.integers(1, 3)]]
            return RealMechanism(own, keep, (gathered, *pushes), noise(rng, free=0.15))

        return draw

    def _gathered(self, axis: int, rng: np.random.Generator) -> NeighbourMean:
        """What a velocity follows."""
        velocity, position = self.velocities[axis], self.positions[axis]
        kinds, odds = ["velocity", "relative velocity", "place", "signal"], [0.2, 0.2, 0.2, 0.4]
        kind = str(rng.choice(kinds, p=odds))
        radius = uniform(rng, 0.8, 2.0)
        if kind == "signal" and self.signals:
            source, less = one_of(rng, self.signals), None
            weight = signs(rng) * uniform(rng, 0.3, 0.8)
        elif kind == "place":
            source, less = position, position
            weight = signs(rng) * log_uniform(rng, 0.1, 0.3)
        else:
            source, weight = velocity, uniform(rng, 0.2, 0.5)
            less = velocity if kind == "relative velocity" else None
        there = self.places[source.class_name]
        pairs = zip(self.positions, map(of_others, there), strict=True)
        return NeighbourMean(weight, of_others(source), tuple(pairs), radius, less)


class Neighbours(AbstractFamily):
    """Objects on a line or in the plane that follow their neighbours, and bystanders.

    >>> print(*Neighbours([0], varying=False, decoys=True).schema.fields("A"))
    a3 x1 x2 x4 x5
    """

    def _lay_out(self) -> None:
        rng, dimensions = self.rng, int(self.rng.integers(1, 3))
        a = self.add_class(4, 8)
        flock = Flock(self, a, dimensions)
        if dimensions == 1:
            flock.signals.append(self.add_drift(a) if rng.random() < 0.5 else self.add_sum(a))
        if rng.random() < 0.6:
            self.add_action(a)
        if self.decoys and self.room(a):
            self.add_decoy(one_of(rng, [*flock.velocities, *flock.signals]))
        b, drift = self.add_bystanders()
        if self.room(b) >= dimensions and rng.random() < 0.7:
            flock.places[b] = [self._add_place(b) for _ in range(dimensions)]
            flock.signals.append(drift)
        if rng.random() < 0.3:
            self.add_bystanders()

    def _add_place(self, c: str) -> Source:
        """Where a bystander is: always in the same place, or not."""
        if self.rng.random() < 0.5:
            return self.add(c, Real(static=True), None, Start(-2.0, 2.0))
        return self.add(c, Real(), self.draw_sum, Start(-2.0, 2.0))


def position_draw(velocity: Source) -> Draw:
    """A position that moves by a velocity, drawn back a little to the middle."""

    def draw(own: Source, rng: np.random.Generator) -> RealMechanism:
        step = Term(uniform(rng, 0.25, 0.5), velocity)
        return RealMechanism(own, uniform(rng, 0.92, 0.97), (step,), noise(rng, 0.6) / 4)

    return draw
