"""Forces: objects push and pull each other by the inverse square of their distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oocdm.envs.generated.families.neighbours import differences, position_draw
from oocdm.envs.generated.family import AbstractFamily, Draw, noise, signs, uniform
from oocdm.envs.generated.mechanisms import AbstractTerm, RealMechanism, Term
from oocdm.envs.generated.source import Inputs, Source, of_others
from oocdm.envs.generated.start import Start
from oocdm.envs.generated.terms import signed
from oocdm.schema import Real


@dataclass(frozen=True)
class Force(AbstractTerm):
    """One component of a sum of forces away from others, softened near 0.

    Each has the size charge / (distance^2 + softness^2), times the object's own charge if that
    counts; `positions` are pairs of fields, the object's own and that of others, one a dimension,
    and the force acts along the one called `axis`.

    >>> own, others = (Source("A", "x1", is_local=i) for i in (True, False))
    >>> print(Force(0.5, Source("A", "x2", is_local=False), ((own, others),), 0, 0.6))
    + 0.50 sum(A[*].x2 / distance^2 along self.x1 - A[*].x1, softened by 0.60)
    """

    weight: float
    charge: Source
    positions: tuple[tuple[Source, Source], ...]
    axis: int
    softness: float
    own_charge: Source | None = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it reads."""
        own = () if self.own_charge is None else (self.own_charge,)
        return (self.charge, *own, *(s for pair in self.positions for s in pair))

    def value(self, inputs: Inputs) -> np.ndarray:
        """The summand."""
        charges, counts = inputs[self.charge]
        apart = [-differences(inputs, *pair) for pair in self.positions]
        square = sum(d**2 for d in apart) + self.softness**2
        total = np.where(counts, charges * apart[self.axis] * square**-1.5, 0).sum(2)
        if self.own_charge is not None:
            total = total * inputs[self.own_charge][0]
        return np.asarray(self.weight * total, np.float32)

    def __str__(self) -> str:
        own = "" if self.own_charge is None else f"{self.own_charge} "
        mine, other = self.positions[self.axis]
        more = [f"{b} - {a}" for a, b in self.positions if a != mine]
        also = f" (distance also in {', '.join(more)})" if more else ""
        return (
            f"{signed(self.weight)} {own}sum({self.charge} / distance^2 along {mine} - {other}"
            f"{also}, softened by {self.softness:.2f})"
        )


class Charged:
    """Fields of a class whose objects move, pushed by charges of their own class and of others."""

    def __init__(self, family: AbstractFamily, c: str, dimensions: int) -> None:
        self.family = family
        velocities = [
            family.add(c, Real(), self._velocity(i), Start(-0.5, 0.5)) for i in range(dimensions)
        ]
        self.positions = [
            family.add(c, Real(), position_draw(v), Start(-2.0, 2.0)) for v in velocities
        ]
        self.places = {c: self.positions}
        self.charges = [self.add_charge(c, can_be_static=True)]

    def add_charge(self, c: str, can_be_static: bool) -> Source:
        """A charge of either sign or a mass; static, or slowly changing."""
        family = self.family
        start = Start(-1.5, 1.5) if family.rng.random() < 0.6 else Start(0.3, 1.5)
        if can_be_static and family.rng.random() < 0.6:
            return family.add(c, Real(static=True), None, start)
        return family.add(c, Real(), self._slow, start)

    def _slow(self, own: Source, rng: np.random.Generator) -> RealMechanism:
        fields = self.family.schema.fields(own.class_name)
        actions = [Source(own.class_name, f, True) for f, kind in fields.items() if kind.action]
        terms = [Term(uniform(rng, 0.1, 0.4), s) for s in actions if rng.random() < 0.5]
        return RealMechanism(own, uniform(rng, 0.9, 0.98), tuple(terms), uniform(rng, 0.05, 0.2))

    def _velocity(self, axis: int) -> Draw:
        def draw(own: Source, rng: np.random.Generator) -> RealMechanism:
            chosen = [q for q in self.charges if rng.random() < 0.7] or self.charges[:1]
            forces = [self._force(axis, charge, rng) for charge in chosen]
            used = {s for force in forces for s in force.sources}
            pool = [s for s in self.family.pool(own, rng) if s not in used]
            pushes = [self.family.term(s, rng, 0.5) for s in pool[: rng.integers(0, 2)]]
            return RealMechanism(own, uniform(rng, 0.6, 0.9), (*forces, *pushes), noise(rng) / 3)

        return draw

    def _force(self, axis: int, charge: Source, rng: np.random.Generator) -> Force:
        there = self.places[charge.class_name]
        pairs = tuple(zip(self.positions, map(of_others, there), strict=True))
        own = self.charges[0] if rng.random() < 0.6 else None
        weight, softness = signs(rng) * uniform(rng, 0.15, 0.4), uniform(rng, 0.5, 0.8)
        return Force(weight, of_others(charge), pairs, axis, softness, own)


class Forces(AbstractFamily):
    """Charged objects on a line or in the plane, and sources of forces that stay in place.

    >>> print(*Forces([0], varying=False, decoys=True).schema.fields("A"))
    x1 x2 x3 x4 x5
    """

    def _lay_out(self) -> None:
        rng, dimensions = self.rng, int(self.rng.integers(1, 3))
        a = self.add_class(3, 7)
        charged = Charged(self, a, dimensions)
        if dimensions == 1 and self.decoys:
            self.add_decoy(charged.charges[0])
        if self.room(a) and rng.random() < 0.6:
            self.add_action(a)
        b = self.add_class(2, 4)
        charged.places[b] = [
            self.add(b, Real(static=True), None, Start(-2.0, 2.0)) for _ in range(dimensions)
        ]
        charged.charges.append(charged.add_charge(b, can_be_static=False))
        if self.decoys:
            self.add_decoy(charged.charges[1])
        self.add_action(b)
        if rng.random() < 0.3:
            self.add_bystanders()
