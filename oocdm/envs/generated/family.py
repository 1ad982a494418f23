"""Families of generated worlds: classes, fields with roles, and how their mechanisms are drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import TypeVar

import numpy as np

from oocdm.envs.generated.blueprint import Blueprint
from oocdm.envs.generated.mechanisms import (
    AbstractMechanism,
    AbstractTerm,
    Condition,
    RealMechanism,
    Term,
)
from oocdm.envs.generated.source import Source
from oocdm.envs.generated.start import Start
from oocdm.envs.generated.terms import ByCategory, Mean
from oocdm.schema import Boolean, Field, ObjectClass, Real, Schema

T = TypeVar("T")
MAX_FIELDS = 5  # of a class
MAX_KEPT = 0.95  # weights of states in a sum add up to at most so much, which bounds the field
Draw = Callable[[Source, np.random.Generator], AbstractMechanism]


@dataclass(frozen=True)
class Role:
    """What a field is in its world: its type, its start, and how its mechanism is drawn."""

    field: Field
    start: Start
    draw: Draw | None  # actions and static fields have no mechanism
    is_decoy: bool = False

    @property
    def unit(self) -> float:
        """A usual size of values."""
        return max(abs(self.start.low), abs(self.start.high), 0.1)


class AbstractFamily(ABC):
    """A world of a family while it is drawn; single mechanisms can be drawn anew.

    A subclass adds classes and fields in `_lay_out`. Their names are drawn, and fields are sorted
    by them, so that neither names nor order tell what a field is. Mechanisms are drawn after all
    fields have been added, each from a generator of its own.
    """

    def __init__(self, seed: Sequence[int], varying: bool, decoys: bool) -> None:
        self.seed, self.varying, self.decoys = list(seed), varying, decoys
        self.rng = np.random.default_rng(self.seed)
        self.max_objects: dict[str, int] = {}
        self.roles: dict[tuple[str, str], Role] = {}
        self._numbers: dict[str, list[int]] = {}
        self._lay_out()
        self.schema = Schema(*(self._make_class(c) for c in self.max_objects))
        self.targets = [
            Source(c, f, True) for c in self.schema.classes for f in self.schema.targets(c)
        ]
        self._redrawn = dict.fromkeys(self.targets, 0)

    @abstractmethod
    def _lay_out(self) -> None:
        """Add classes and fields."""

    def blueprint(self) -> Blueprint:
        """The world as it is drawn now."""
        mechanisms = []
        for i, (own, redrawn) in enumerate(self._redrawn.items()):
            draw = self.roles[own[:2]].draw
            assert draw is not None
            mechanisms.append(draw(own, np.random.default_rng([*self.seed, i, redrawn])))
        starts = {name: role.start for name, role in self.roles.items()}
        return Blueprint(self.schema, self.max_objects, self.varying, mechanisms, starts)

    def redraw(self, targets: Iterable[Source]) -> None:
        """Have the mechanisms of some fields drawn anew."""
        for target in targets:
            self._redrawn[target] += 1

    # ---------------------------------------------------------------- laying out

    def add_class(self, low: int, high: int) -> str:
        """A class of so many objects, at least two if their number varies."""
        name = ascii_uppercase[len(self.max_objects)]
        self.max_objects[name] = int(self.rng.integers(max(low, 2), high + 1))
        self._numbers[name] = (1 + self.rng.permutation(MAX_FIELDS)).tolist()
        return name

    def add(
        self, c: str, field: Field, draw: Draw | None = None, start: Start | None = None
    ) -> Source:
        """A field, as its own object reads it."""
        letter = {"categorical": "k", "boolean": "b", "integer": "n"}.get(field.kind, "x")
        letter = "a" if field.action else "w" if field.shape else letter
        name = f"{letter}{self._numbers[c].pop()}"
        self.roles[c, name] = Role(field, start or Start(), draw)
        return Source(c, name, True)

    def add_action(self, c: str) -> Source:
        """An action between -1 and 1."""
        return self.add(c, Real(-1.0, 1.0, action=True))

    def add_drift(self, c: str) -> Source:
        """A field that drifts on its own."""
        return self.add(c, Real(), draw_drift)

    def add_sum(self, c: str) -> Source:
        """A field that is a sum of whatever is drawn."""
        return self.add(c, Real(), self.draw_sum)

    def add_decoy(self, of: Source) -> Source:
        """A field that resembles another one of its object and causes nothing, if wanted."""
        role = self.roles[of[:2]]
        start = replace(role.start, near=of.field_name, own_part=0.4)
        if role.field.static:
            decoy = self.add(of.class_name, role.field, None, start)
        else:
            decoy = self.add(
                of.class_name, role.field, lambda own, rng: follow(own, of, rng), start
            )
        self.roles[decoy[:2]] = replace(self.roles[decoy[:2]], is_decoy=True)
        return decoy

    def add_bystanders(self, low: int = 2, high: int = 5) -> tuple[str, Source]:
        """A class and its field that drifts; another one reads others; maybe it acts."""
        c = self.add_class(low, high)
        drift = self.add_drift(c)
        self.add_sum(c)
        if self.rng.random() < 0.6:
            self.add_action(c)
        if self.decoys and self.rng.random() < 0.6:
            self.add_decoy(drift)
        return c, drift

    def room(self, c: str) -> int:
        """How many more fields a class may have."""
        return len(self._numbers[c])

    def _make_class(self, c: str) -> type[ObjectClass]:
        fields = {f: role.field for (d, f), role in sorted(self.roles.items()) if d == c}
        return type(c, (ObjectClass,), fields)

    # ---------------------------------------------------------------- drawing mechanisms

    def pool(self, own: Source, rng: np.random.Generator) -> list[Source]:
        """What a field may read beside itself, in random order: all but decoys and vectors."""
        found = [
            Source(c, f, is_local)
            for (c, f), role in self.roles.items()
            for is_local in (True, False)
            if not role.is_decoy and not role.field.shape
            if c == own.class_name or not is_local
        ]
        found = [s for s in found if s != own]
        return [found[i] for i in rng.permutation(len(found))]

    def draw_sum(self, own: Source, rng: np.random.Generator) -> RealMechanism:
        """Part of the field itself, one to three terms from the pool, and noise or none."""
        terms = [self.term(s, rng) for s in self.pool(own, rng)[: rng.integers(1, 4)]]
        return bounded(RealMechanism(own, uniform(rng, 0.3, 0.8), tuple(terms), noise(rng)))

    def term(self, source: Source, rng: np.random.Generator, size: float = 1.0) -> AbstractTerm:
        """A summand that suits a source, some 0.15 to 0.5 of a unit."""
        role = self.roles[source[:2]]
        weight = signs(rng) * log_uniform(rng, 0.15, 0.5) * size
        if role.field.num_codes:
            if source.is_local:
                amounts = weight * rng.permutation(np.linspace(-1.5, 1.5, role.field.num_codes))
                return ByCategory(tuple(amounts.tolist()), source)
            code = int(rng.integers(0, role.field.num_codes))
            code = 1 if isinstance(role.field, Boolean) else code
            return Term(weight / 2, source, Condition(source, code))
        weight /= role.unit
        if source.is_local or rng.random() < 0.4:
            return Term(weight, source)
        return Mean(2 * weight, source)


# ---------------------------------------------------------------- mechanisms of many families


def draw_drift(own: Source, rng: np.random.Generator) -> RealMechanism:
    """A field that keeps most of itself and drifts.

    >>> print(draw_drift(Source("A", "x1", is_local=True), np.random.default_rng(0)))
    A.x1' = 0.86 self.x1 + N(0, sd 0.246)
    """
    keep = uniform(rng, 0.7, 0.95)
    return RealMechanism(own, keep, noise=uniform(rng, 0.4, 0.7) * float(np.sqrt(1 - keep**2)))


def follow(own: Source, cause: Source, rng: np.random.Generator) -> RealMechanism:
    """A decoy: it goes part of the way to the field that it resembles.

    >>> x1, x2 = (Source("A", name, is_local=True) for name in ("x1", "x2"))
    >>> print(follow(x1, x2, np.random.default_rng(0)))
    A.x1' = 0.30 self.x1 + 0.70 self.x2 + N(0, sd 0.042) (a decoy of x2)
    """
    keep = uniform(rng, 0.05, 0.45)
    terms = (Term(1 - keep, cause),)
    return RealMechanism(own, keep, terms, log_uniform(rng, 0.02, 0.3), cause.field_name)


def bounded(mechanism: RealMechanism) -> RealMechanism:
    """With smaller weights, if those of states would add up to more than 0.95."""
    total = mechanism.keep + sum(abs(getattr(t, "weight", 0.0)) for t in mechanism.terms)
    keep = mechanism.keep * min(1.0, MAX_KEPT / total)
    terms = tuple(
        replace(t, weight=t.weight * min(1.0, MAX_KEPT / total))
        if isinstance(t, Term | Mean)
        else t
        for t in mechanism.terms
    )
    return replace(mechanism, keep=keep, terms=terms)


def noise(rng: np.random.Generator, free: float = 0.3) -> float:
    """A standard deviation; 0 with a chance."""
    sd = log_uniform(rng, 0.02, 0.3)
    return 0.0 if rng.random() < free else sd


def uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number between two."""
    return float(rng.uniform(low, high))


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number between two, all orders of magnitude alike."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def signs(rng: np.random.Generator) -> int:
    """1 or -1."""
    return int(rng.choice([-1, 1]))


def one_of(rng: np.random.Generator, given: Sequence[T]) -> T:
    """One of some things."""
    return given[int(rng.integers(len(given)))]
