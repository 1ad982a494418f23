"""OOFULL: the network of OOCDM under the full graph, without discovery."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from oocdm.graph import Layout, Structure
from oocdm.methods.class_method import AbstractClassMethod
from oocdm.methods.method import Schedule
from oocdm.models.oocdm.predictor import LATE


@dataclass(frozen=True)
class Oofull(AbstractClassMethod):
    """Maximises the likelihood under the full graph alone, and predicts with it.

    >>> Oofull.preset("paper").schedule.optimiser
    'adam'
    """

    name: ClassVar[str] = "oofull"

    schedule: Schedule = field(default_factory=lambda: Schedule(iterations=4))

    def start(
        self, layout: Layout, known: np.ndarray | None, testable: np.ndarray
    ) -> tuple[Structure, Structure]:
        whole = layout.structure(True if known is None else known)
        return whole - layout.ways(LATE), layout.structure(False, False)
