"""Jumps: sums that now and then make a large jump."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oocdm.envs.generated.family import AbstractFamily, log_uniform, uniform
from oocdm.envs.generated.mechanisms import RealMechanism
from oocdm.envs.generated.source import Source
from oocdm.schema import Real


def add_jumping(family: AbstractFamily, c: str) -> Source:
    """A sum that jumps in 0.5 to 2 % of the steps, many times as far as it usually moves."""

    def draw(own: Source, rng: np.random.Generator) -> RealMechanism:
        mechanism = family.draw_sum(own, rng)
        chance, jump = log_uniform(rng, 0.005, 0.02), uniform(rng, 2.0, 6.0)
        return replace(mechanism, jump_chance=chance, jump=jump, noise=mechanism.noise / 2)

    return family.add(c, Real(), draw)


class Jumps(AbstractFamily):
    """Two or three classes of sums, about half of which have rare jumps.

    >>> print(*Jumps([0], varying=False, decoys=True).max_objects)
    A B
    """

    def _lay_out(self) -> None:
        rng = self.rng
        for number in range(2 + (rng.random() < 0.3)):
            c = self.add_class(2, 6)
            fields = [add_jumping(self, c), self.add_drift(c)]
            if rng.random() < 0.6:
                fields.append(self.add_sum(c))
            if number == 0 or rng.random() < 0.5:
                self.add_action(c)
            if self.decoys and (number == 0 or rng.random() < 0.4):
                self.add_decoy(fields[int(rng.integers(len(fields)))])
