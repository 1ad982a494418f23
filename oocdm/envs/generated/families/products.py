"""Products: values times values, and gains by category."""

from __future__ import annotations

import numpy as np

from oocdm.envs.generated.family import (
    AbstractFamily,
    log_uniform,
    noise,
    one_of,
    signs,
    uniform,
)
from oocdm.envs.generated.mechanisms import (
    CATEGORIES,
    AbstractTerm,
    CategoryMechanism,
    RealMechanism,
    Term,
)
from oocdm.envs.generated.source import Source
from oocdm.envs.generated.terms import ByCategory, Mean, Product, Toward
from oocdm.schema import Categorical, Real


def add_product(family: AbstractFamily, c: str) -> Source:
    """A field with a product in its sum: of values, of a gain and a value, or with a mean."""

    def draw(own: Source, rng: np.random.Generator) -> RealMechanism:
        pool = family.pool(own, rng)
        products = [_product(family, own, pool, rng) for _ in range(1 + (rng.random() < 0.3))]
        used = {s for product in products for s in product.sources}
        rest = [s for s in pool if s not in used][: rng.integers(0, 2)]
        terms = (*products, *(family.term(s, rng) for s in rest))
        return RealMechanism(own, uniform(rng, 0.2, 0.7), terms, noise(rng))

    return family.add(c, Real(), draw)


def add_switch(family: AbstractFamily, c: str) -> Source:
    """A category that goes on to the next one with a chance."""

    def draw(own: Source, rng: np.random.Generator) -> CategoryMechanism:
        chance = uniform(rng, 0.1, 0.4)
        return CategoryMechanism(own, None, chance, chance)

    return family.add(c, Categorical(CATEGORIES), draw)


def _product(
    family: AbstractFamily, own: Source, pool: list[Source], rng: np.random.Generator
) -> Product:
    """One factor is of the object itself, if it has another field; the other one any number."""

    def is_number(source: Source) -> bool:
        return not family.roles[source[:2]].field.num_codes

    local = [s for s in pool if s.is_local] or [own]
    first = one_of(rng, local)
    numbers = [s for s in [*pool, own] if is_number(s) and s != first]
    second = one_of(rng, numbers)
    left = _factor(family, own, first, rng)
    right = _factor(family, own, second, rng)
    return Product(signs(rng) * log_uniform(rng, 0.25, 0.8), left, right)


def _factor(
    family: AbstractFamily, own: Source, source: Source, rng: np.random.Generator
) -> AbstractTerm:
    """A value in units, a gain by category, a mean of others or the way to it."""
    role = family.roles[source[:2]]
    if role.field.num_codes:
        gains = rng.permutation(np.linspace(-1, 1, role.field.num_codes)) + uniform(rng, -0.5, 0.5)
        return ByCategory(tuple(gains.tolist()), source)
    if source.is_local:
        return Term(1 / role.unit, source)
    if rng.random() < 0.5 or role.unit != family.roles[own[:2]].unit:
        return Mean(1 / role.unit, source)
    return Toward(1 / role.unit, source, own)


class Products(AbstractFamily):
    """Two or three classes of fields that multiply.

    >>> print(*Products([0], varying=False, decoys=True).max_objects)
    A B
    """

    def _lay_out(self) -> None:
        rng = self.rng
        for number in range(2 + (rng.random() < 0.3)):
            c = self.add_class(2, 6)
            add_product(self, c)
            drift = self.add_drift(c)
            if rng.random() < 0.6:
                add_switch(self, c)
            if number == 0 or rng.random() < 0.5:
                self.add_action(c)
            if self.decoys and (number == 0 or rng.random() < 0.4):
                self.add_decoy(drift)
            elif self.room(c) and rng.random() < 0.6:
                add_product(self, c)
