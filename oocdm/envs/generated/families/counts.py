"""Counts: whole numbers with Poisson noise, as of queues, arrivals and sales."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oocdm.envs.generated.distribution import Counts
from oocdm.envs.generated.family import AbstractFamily, uniform
from oocdm.envs.generated.mechanisms import AbstractMechanism, AbstractTerm
from oocdm.envs.generated.source import Inputs, Source
from oocdm.envs.generated.start import Start
from oocdm.schema import Integer

LOG_RATES = (-2.0, 2.7)  # the least and the largest logarithm of a rate


@dataclass(frozen=True)
class CountMechanism(AbstractMechanism):
    """What stays of the field itself and is not served, and a Poisson number of new ones.

    >>> print(CountMechanism(Source("A", "n1", is_local=True), 0.5, 1, 0.7))
    A.n1' = max(floor(0.50 self.n1) - 1, 0) + Poisson(exp(0.70))
    """

    own: Source
    stay: float  # a share
    served: int
    base: float
    terms: tuple[AbstractTerm, ...] = ()
    decoy_of: str | None = None

    @property
    def sources(self) -> list[Source]:
        """The causes of the field; it is shown nothing else."""
        read = [self.own] if self.stay else []
        return list(dict.fromkeys([*read, *(s for term in self.terms for s in term.sources)]))

    def distribution(self, inputs: Inputs, shape: tuple[int, ...]) -> Counts:
        """Of the next numbers."""
        least = np.zeros(shape, np.int64)
        if self.stay:
            # A little more than the share, so that rounding never decides.
            stays = np.floor((self.stay + 1e-6) * inputs[self.own][0]).astype(np.int64)
            least = np.maximum(stays - self.served, 0)
        log_rate = np.full(shape, self.base)
        for term in self.terms:
            log_rate = log_rate + term.value(inputs)
        return Counts(least, np.exp(np.clip(log_rate, *LOG_RATES)))

    def __str__(self) -> str:
        stays = f"floor({self.stay:.2f} {self.own})"
        stays = f"max({stays} - {self.served}, 0)" if self.served else stays
        words = [stays, "+"] if self.stay else []
        terms = "".join(f" {term}" for term in self.terms)
        words += [f"Poisson(exp({self.base:.2f}{terms}))"]
        words += [f"(a decoy of {self.decoy_of})"] if self.decoy_of else []
        return f"{self.own.class_name}.{self.own.field_name}' = {' '.join(words)}"


def add_count(family: AbstractFamily, c: str) -> Source:
    """A number whose rate depends on what is drawn; part of it stays, or none."""

    def draw(own: Source, rng: np.random.Generator) -> CountMechanism:
        stay = 0.0 if rng.random() < 0.35 else uniform(rng, 0.3, 0.7)
        pool = family.pool(own, rng)[: rng.integers(1, 4)]
        terms = tuple(family.term(s, rng, size=1.6) for s in pool)
        served = int(stay and rng.integers(0, 3))
        return CountMechanism(own, stay, served, uniform(rng, 0.2, 1.5), terms)

    return family.add(c, Integer(), draw, Start(0, 10))


class Queues(AbstractFamily):
    """Two or three classes of counts, and numbers that they read or that read them.

    >>> print(*Queues([0], varying=False, decoys=True).max_objects)
    A B
    """

    def _lay_out(self) -> None:
        rng = self.rng
        for number in range(2 + (rng.random() < 0.3)):
            c = self.add_class(2, 6)
            add_count(self, c)
            drift = self.add_drift(c)
            if rng.random() < 0.5:
                add_count(self, c)
            if number == 0 or rng.random() < 0.5:
                self.add_action(c)
            if self.decoys and (number == 0 or rng.random() < 0.4):
                self.add_decoy(drift)
            elif rng.random() < 0.5:
                self.add_sum(c)
