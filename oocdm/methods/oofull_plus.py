"""OOFULL+: OOFULL for worlds whose objects of one class differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from oocdm.methods.augmented import AbstractAugmentedMethod
from oocdm.methods.oofull import Oofull


@dataclass(frozen=True)
class OofullPlus(AbstractAugmentedMethod, Oofull):
    """As `oofull`, and learns who is who: each object by its place among those of its class.

    >>> OofullPlus().knows_objects
    True
    """

    name: ClassVar[str] = "oofull+"
