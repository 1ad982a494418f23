"""OOFULL: the network of OOCDM under the full graph, without discovery."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from oocdm.discovery import StructureParts
from oocdm.graph import AbstractEdgeSpace
from oocdm.methods.class_method import AbstractClassMethod
from oocdm.methods.method import Schedule, Standing, Term


@dataclass(frozen=True)
class Oofull(AbstractClassMethod):
    """Maximises the likelihood under the full graph alone, and predicts with it.

    >>> Oofull.preset("paper").schedule.optimiser
    'adam'
    """

    name: ClassVar[str] = "oofull"

    schedule: Schedule = field(default_factory=lambda: Schedule(iterations=4))

    def start(
        self, edges: AbstractEdgeSpace, known: np.ndarray | None, testable: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        structure = np.ones(StructureParts.of(edges.schema).width, dtype=bool)
        if known is not None:
            structure[: len(known)] = known
        return structure, np.zeros_like(structure)

    def objective(self, now: Standing, rng: np.random.Generator) -> list[Term]:
        return [Term(1.0, now.estimate[None])]
