"""Following: an object follows the nearest other one in a direction, as cars do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oocdm.envs.generated.families.neighbours import differences, position_draw
from oocdm.envs.generated.family import AbstractFamily, noise, one_of, signs, uniform
from oocdm.envs.generated.mechanisms import (
    CATEGORIES,
    AbstractTerm,
    CategoryMechanism,
    RealMechanism,
)
from oocdm.envs.generated.source import Inputs, Source, of_others
from oocdm.envs.generated.start import Start
from oocdm.envs.generated.terms import signed
from oocdm.schema import Categorical, Real


@dataclass(frozen=True)
class Nearest:
    """The nearest other object ahead (or behind), maybe only among those in the same lane.

    `position` and `lane` are fields of the object itself and of others.

    >>> own, others = (Source("A", "x1", is_local=i) for i in (True, False))
    >>> print(Nearest((own, others), 1))
    the next with A[*].x1 > self.x1
    """

    position: tuple[Source, Source]
    direction: int
    lane: tuple[Source, Source] | None = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it takes to find it."""
        return (*self.position, *(self.lane or ()))

    def find(self, inputs: Inputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which one it is, how far it is, and whether there is one, (world, object) each."""
        gap = self.direction * differences(inputs, *self.position)
        ahead = inputs[self.position[1]][1] & (gap > 0)
        if self.lane is not None:
            own, others = (inputs[s][0] for s in self.lane)
            ahead &= others == own[..., None]
        gap = np.where(ahead, gap, np.float32(np.inf))
        return gap.argmin(2), gap.min(2), np.asarray(ahead.any(2))

    def __str__(self) -> str:
        own, other = self.position
        lane = "" if self.lane is None else f" and {self.lane[1]} = {self.lane[0]}"
        return f"the next with {other} {'>' if self.direction > 0 else '<'} {own}{lane}"


@dataclass(frozen=True)
class Closeness(AbstractTerm):
    """How close the nearest one is: 1 if it is at hand, 0 if it is far or there is none.

    >>> own, others = (Source("A", "x1", is_local=i) for i in (True, False))
    >>> print(Closeness(-0.5, Nearest((own, others), 1), 0.8))
    - 0.50 exp(-distance / 0.80) of the next with A[*].x1 > self.x1
    """

    weight: float
    nearest: Nearest
    reach: float

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it reads."""
        return self.nearest.sources

    def value(self, inputs: Inputs) -> np.ndarray:
        """The summand."""
        _, gap, _ = self.nearest.find(inputs)
        return np.asarray(self.weight * np.exp(-gap / np.float32(self.reach)))

    def __str__(self) -> str:
        return f"{signed(self.weight)} exp(-distance / {self.reach:.2f}) of {self.nearest}"


@dataclass(frozen=True)
class OfNearest(AbstractTerm):
    """A field of the nearest one, maybe less one of the object itself; 0 if there is none.

    >>> own, others = (Source("A", "x1", is_local=i) for i in (True, False))
    >>> print(OfNearest(0.5, Nearest((own, others), 1), Source("A", "x2", is_local=False)))
    + 0.50 A[*].x2 of the next with A[*].x1 > self.x1
    """

    weight: float
    nearest: Nearest
    source: Source
    less: Source | None = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it reads."""
        less = () if self.less is None else (self.less,)
        return (self.source, *less, *self.nearest.sources)

    def value(self, inputs: Inputs) -> np.ndarray:
        """The summand."""
        which, _, some = self.nearest.find(inputs)
        found = np.take_along_axis(inputs[self.source][0], which[..., None], 2)[..., 0]
        if self.less is not None:
            found = found - inputs[self.less][0]
        return np.asarray(self.weight * np.where(some, found, np.float32(0)))

    def __str__(self) -> str:
        what = f"{self.source}" if self.less is None else f"({self.source} - {self.less})"
        return f"{signed(self.weight)} {what} of {self.nearest}"


class Cars:
    """Fields of a class whose objects move along a line behind each other, maybe in lanes.

    What stands along the line may be added to `marks`: positions and signals of other classes.
    """

    def __init__(self, family: AbstractFamily, c: str, lanes: bool) -> None:
        self.family = family
        self.velocity = family.add(c, Real(), self._velocity)
        self.position = family.add(c, Real(), position_draw(self.velocity), Start(-3.0, 3.0))
        self.lane = self._add_lane(c) if lanes else None
        self.marks: list[tuple[Source, Source]] = []

    def _add_lane(self, c: str) -> Source:
        if self.family.rng.random() < 0.5:
            return self.family.add(c, Categorical(2, static=True))
        return self.family.add(c, Categorical(CATEGORIES), _change_lane)

    def _velocity(self, own: Source, rng: np.random.Generator) -> RealMechanism:
        others = (self.position, of_others(self.position))
        with_lane = self.lane is not None and rng.random() < 0.7
        lane = (self.lane, of_others(self.lane)) if with_lane and self.lane else None
        ahead = Nearest(others, signs(rng), lane)
        reads = rng.choice(3)  # the gap, the speed, or both
        terms: list[AbstractTerm] = []
        if reads != 1:
            terms.append(Closeness(-uniform(rng, 0.3, 0.9), ahead, uniform(rng, 0.6, 1.5)))
        if reads != 0:
            less = own if rng.random() < 0.6 else None
            weight = uniform(rng, 0.2, 0.5)
            terms.append(OfNearest(weight, ahead, of_others(self.velocity), less))
        if self.marks and rng.random() < 0.5:
            place, signal = one_of(rng, self.marks)
            mark = Nearest((self.position, of_others(place)), ahead.direction)
            weight = signs(rng) * uniform(rng, 0.3, 0.8)
            terms.append(OfNearest(weight, mark, of_others(signal)))
        used = {s for term in terms for s in term.sources}
        pool = [s for s in self.family.pool(own, rng) if s not in used]
        pushes = [self.family.term(s, rng) for s in pool[: rng.integers(1, 3)]]
        return RealMechanism(own, uniform(rng, 0.4, 0.8), (*terms, *pushes), noise(rng, 0.15))


def _change_lane(own: Source, rng: np.random.Generator) -> CategoryMechanism:
    chance = uniform(rng, 0.05, 0.25)
    return CategoryMechanism(own, None, chance, chance)


class Following(AbstractFamily):
    """Cars behind each other on a line, and marks along it.

    >>> print(*Following([1], varying=False, decoys=True).max_objects)
    A B
    """

    def _lay_out(self) -> None:
        rng = self.rng
        a = self.add_class(4, 8)
        cars = Cars(self, a, lanes=bool(rng.random() < 0.4))
        if self.decoys:
            self.add_decoy(cars.velocity)
        if rng.random() < 0.6:
            self.add_action(a)
        b, drift = self.add_bystanders()
        if self.room(b) and rng.random() < 0.5:
            place = self.add(b, Real(static=True), None, Start(-3.0, 3.0))
            cars.marks.append((place, drift))
        if rng.random() < 0.3:
            self.add_bystanders()
