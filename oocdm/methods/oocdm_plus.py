"""OOCDM+: OOCDM for worlds whose objects of one class differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from oocdm.methods.augmented import AbstractAugmentedMethod
from oocdm.methods.oocdm import Oocdm


@dataclass(frozen=True)
class OocdmPlus(AbstractAugmentedMethod, Oocdm):
    """As `oocdm`, and learns who is who: each object by its place among those of its class.

    Which object is which must be stable: in all episodes an object has the same name.

    >>> OocdmPlus.preset("paper").model.identity_dim
    64
    """

    name: ClassVar[str] = "oocdm+"
