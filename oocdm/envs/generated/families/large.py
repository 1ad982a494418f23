"""Large: three to four classes of up to five fields, with mechanisms of all kinds."""

from __future__ import annotations

from collections.abc import Callable

from oocdm.envs.generated.families.counts import add_count
from oocdm.envs.generated.families.following import Cars
from oocdm.envs.generated.families.forces import Charged
from oocdm.envs.generated.families.jumps import add_jumping
from oocdm.envs.generated.families.neighbours import Flock
from oocdm.envs.generated.families.products import add_product, add_switch
from oocdm.envs.generated.families.vectors import Arrows
from oocdm.envs.generated.families.weak import add_chance
from oocdm.envs.generated.family import AbstractFamily
from oocdm.schema import Boolean


class Large(AbstractFamily):
    """Each class has fields of some other families; one or two of them move.

    >>> len(Large([0], varying=False, decoys=True).max_objects) in (3, 4)
    True
    """

    def _lay_out(self) -> None:
        rng = self.rng
        arrows = Arrows(self, 2)
        kinds: list[Callable[[str], object]] = [
            self.add_drift,
            self.add_sum,
            lambda c: add_product(self, c),
            lambda c: add_jumping(self, c),
            lambda c: add_count(self, c),
            lambda c: add_switch(self, c),
            lambda c: add_chance(self, c, Boolean(), (0.6, 0.4)),
            arrows.add_drift,
        ]
        moving = rng.permutation(3)[: rng.integers(1, 3)]
        for number in range(int(rng.integers(3, 5))):
            c = self.add_class(2, 5)
            drift = self.add_drift(c)
            if number in moving:
                self._add_motion(c)
            if number == 0 or rng.random() < 0.4:
                self.add_action(c)
            if self.decoys and self.room(c) and (number == 0 or rng.random() < 0.4):
                self.add_decoy(drift)
            more = min(self.room(c), int(rng.integers(1, 4)))
            for i in rng.permutation(len(kinds))[:more]:
                kinds[i](c)

    def _add_motion(self, c: str) -> None:
        """Fields that move as in one of the families of pairs, on a line."""
        kind = self.rng.integers(3)
        if kind == 0:
            Flock(self, c, 1)
        elif kind == 1:
            Charged(self, c, 1)
        else:
            Cars(self, c, lanes=False)
