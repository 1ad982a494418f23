"""OOFULL+: OOFULL for worlds whose objects of one class differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from oocdm.graph import Layout, Structure
from oocdm.methods.augmented import EARLY, augmented, check_augmented
from oocdm.methods.oofull import Oofull
from oocdm.models.oocdm.options import ModelOptions


@dataclass(frozen=True)
class OofullPlus(Oofull):
    """As `oofull`, and learns who is who: each object by its place among those of its class.

    Which object is which must be stable: in all episodes an object has the same name.

    >>> OofullPlus.preset("paper").model.identity_dim
    64
    """

    name: ClassVar[str] = "oofull+"

    model: ModelOptions = field(default_factory=augmented)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_augmented(self.name, self.model)

    @classmethod
    def preset(cls, name: str, **options: Any) -> Self:
        return super().preset(name, **{"model": augmented(name), **options})

    def start(
        self, layout: Layout, known: np.ndarray | None, testable: np.ndarray
    ) -> tuple[Structure, Structure]:
        whole, free = super().start(layout, known, testable)
        return whole | layout.ways(EARLY), free
