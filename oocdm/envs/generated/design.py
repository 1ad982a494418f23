"""The drawing of a generated world: classes, numbers of objects and mechanisms."""

from __future__ import annotations

from dataclasses import replace
from string import ascii_uppercase

import numpy as np

from oocdm.envs.generated.mechanisms import (
    CATEGORIES,
    CategoryMechanism,
    Condition,
    RealMechanism,
    Sample,
    Term,
)
from oocdm.envs.generated.source import Source
from oocdm.schema import Categorical, Field, ObjectClass, Real, Schema

MAX_OBJECTS = 4  # of a class
NOISE = (0.05, 0.1)  # standard deviation, in spreads of the field


class Design:
    """Draws classes, numbers of objects and mechanisms; single mechanisms can be drawn anew.

    `sample` holds values of the fields, which thresholds and noise are made to suit.
    """

    def __init__(
        self, seed: list[int], varying: bool, with_decoy: bool, max_classes: int, max_fields: int
    ) -> None:
        self.seed, self.rng = seed, np.random.default_rng(seed)
        self.max_classes, self.max_fields = max_classes, max_fields
        self.schema = self._schema()
        # Three at least: smaller worlds are the same whatever the largest number of classes.
        size = max(3, len(self.schema.classes))
        numbers = self.rng.integers(2 if varying else 1, MAX_OBJECTS + 1, size=size).tolist()
        self.max_objects = dict(zip(self.schema.classes, numbers, strict=False))
        self.sample: Sample = {}
        self.targets = [
            Source(c, f, True) for c in self.schema.classes for f in self.schema.targets(c)
        ]
        self._redrawn = dict.fromkeys(self.targets, 0)
        self.decoy: tuple[str, str] | None = None
        real = [s for s in self.targets if self._is_real(s)]
        able = [s for s in real if sum(s.class_name == other.class_name for other in real) > 1]
        if with_decoy and able:
            self.decoy = able[self.rng.integers(len(able))][:2]

    def redraw(self, targets: list[Source]) -> None:
        """Have the mechanisms of some fields drawn anew."""
        for target in set(targets):
            self._redrawn[target] += 1

    def mechanisms(self) -> list[RealMechanism | CategoryMechanism]:
        """One for each state field; with a decoy, if there is a parent that it can resemble."""
        drawn: dict[Source, RealMechanism | CategoryMechanism] = {}
        for i, (own, redrawn) in enumerate(self._redrawn.items()):
            self.rng = np.random.default_rng([*self.seed, i, redrawn])
            pool = [s for s in self.sources(own.class_name) if s != own and s[:2] != self.decoy]
            pool = [pool[i] for i in self.rng.permutation(len(pool))]
            drawn[own] = self._real(own, pool) if self._is_real(own) else self._category(own, pool)
        others = [m for m in drawn.values() if m.own[:2] != self.decoy]
        causes = {s[:2] for m in others for s in m.sources if s != m.own}
        for m in [m for m in others if isinstance(m, RealMechanism) and m.own[:2] in causes]:
            if self.decoy and m.own.class_name == self.decoy[0]:
                decoy, like = Source(*self.decoy, is_local=True), m.own.field_name
                drawn[decoy] = replace(m, own=decoy, noise=self._noise(decoy), decoy_of=like)
        return list(drawn.values())

    def _schema(self) -> Schema:
        """Classes A, B and maybe more; real fields are called x, categories k, actions a."""
        rng = self.rng
        names = ascii_uppercase[: rng.integers(2, self.max_classes + 1)]
        actor = rng.choice(list(names))  # has an action in any case, others may have one
        classes = []
        for name in names:
            acts = name == actor or rng.random() < 0.6
            is_real = rng.random(rng.integers(2, self.max_fields + 1)) < 0.7
            fields: dict[str, Field] = {
                f"{'x' if real else 'k'}{i}": Real() if real else Categorical(CATEGORIES)
                for i, real in enumerate(is_real[acts:], start=1)
            }
            if acts and is_real[0]:
                fields["a"] = Real(-1.0, 1.0, action=True)
            elif acts:
                fields["a"] = Categorical(CATEGORIES, action=True)
            classes.append(type(name, (ObjectClass,), fields))
        return Schema(*classes)

    def sources(self, class_name: str) -> list[Source]:
        """All that a field of this class could depend on."""
        local = [Source(class_name, f, True) for f in self.schema.fields(class_name)]
        return local + [
            Source(c, f, False)
            for c, number in self.max_objects.items()
            for f in self.schema.fields(c)
            if c != class_name or number > 1
        ]

    def _real(self, own: Source, pool: list[Source]) -> RealMechanism:
        rng = self.rng
        noise = self._noise(own) if rng.random() < 0.5 else 0.0
        drawn = [self._term(pool) for _ in range(rng.choice(3, p=[0.08, 0.42, 0.5]))]
        terms = [term for term in drawn if term is not None]
        if not terms:
            return RealMechanism(own, keep=0.95 if noise else 1.0, noise=noise)
        # Weights of states have a sum below 1, which bounds the field; actions and counts are
        # bounded without, and many of them would add up in a field that keeps most of itself.
        is_state = [t.kind != "count" and not self._field(t.source).action for t in terms]
        parts = rng.uniform(0.6, 1.0, size=1 + len(terms)) * [rng.random() < 0.8, *is_state]
        total = rng.uniform(0.7, 0.95) if any(is_state) else rng.uniform(0.4, 0.7)
        parts *= total / max(parts.sum(), 0.6)
        numbers = [self.max_objects[t.source.class_name] if t.kind == "count" else 1 for t in terms]
        free = rng.uniform(0.4, 0.8, size=len(terms)) / np.sqrt(numbers)
        weights = np.where(is_state, parts[1:], free) * rng.choice([-1, 1], size=len(terms))
        weighted = (replace(t, weight=float(w)) for t, w in zip(terms, weights, strict=True))
        return RealMechanism(own, float(parts[0]), tuple(weighted), noise)

    def _category(self, own: Source, pool: list[Source]) -> CategoryMechanism:
        rng = self.rng
        is_sure = rng.random() < 0.5
        if rng.random() < 0.15:
            chance = 0.0 if is_sure else float(rng.uniform(0.1, 0.3))
            return CategoryMechanism(own, None, chance, chance)
        high, low = (1.0, 0.0) if is_sure else (rng.uniform(0.7, 0.9), rng.uniform(0.05, 0.2))
        return CategoryMechanism(own, self._condition(pool[0]), float(high), float(low))

    def _term(self, pool: list[Source]) -> Term | None:
        """A term of a random kind that the pool allows; its sources leave the pool."""
        for kind in self.rng.permutation(["linear", "gated", "largest", "count"]):
            is_local = kind in ("linear", "gated")
            able = [s for s in pool if s.is_local == is_local]
            source = next((s for s in able if kind == "count" or self._is_real(s)), None)
            gate = next((s for s in able if s != source), None)
            asked = {"gated": gate, "count": source}.get(kind)
            if source is not None and (kind != "gated" or gate is not None):
                pool[:] = [s for s in pool if s not in (source, asked)]
                return Term(1.0, source, None if asked is None else self._condition(asked))
        return None

    def _condition(self, source: Source) -> Condition:
        quantile, category = self.rng.uniform(0.35, 0.65), int(self.rng.integers(CATEGORIES))
        if not self._is_real(source):
            return Condition(source, category)
        return Condition(source, float(np.quantile(self.sample.get(source[:2], 0.0), quantile)))

    def _noise(self, own: Source) -> float:
        spread = np.std(self.sample.get(own[:2], (-0.5, 0.5)))
        return float(self.rng.uniform(*NOISE) * spread)

    def _field(self, source: Source) -> Field:
        return self.schema.field(source.class_name, source.field_name)

    def _is_real(self, source: Source) -> bool:
        return self._field(source).is_real
