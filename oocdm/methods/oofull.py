"""OOFULL: the network of OOCDM under the full graph, without discovery."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np

from oocdm.discovery import Discovery, Settling, StructureParts
from oocdm.methods.method import AbstractMethod, Schedule, Standing, Term
from oocdm.methods.oocdm import PAPER_SCHEDULE
from oocdm.models.fast import FastModel
from oocdm.models.network import AbstractWorldModel
from oocdm.models.options import ModelOptions
from oocdm.models.prepared import Prepared
from oocdm.models.scales import Scales
from oocdm.schema import Schema


@dataclass(frozen=True)
class Oofull(AbstractMethod):
    """Maximises the likelihood under the full graph alone, and predicts with it.

    >>> Oofull.preset("paper").schedule.optimiser
    'adam'
    """

    name: ClassVar[str] = "oofull"

    preset_name: str = "default"
    model: ModelOptions = field(default_factory=ModelOptions)
    schedule: Schedule = field(default_factory=lambda: Schedule(iterations=4))

    @staticmethod
    def preset(name: str, **options: Any) -> Oofull:
        """The method with a preset's options: "default" or "paper"."""
        options = {"model": ModelOptions.preset(name), **options}
        if name == "paper":
            options = {"schedule": PAPER_SCHEDULE, **options}
        return Oofull(preset_name=name, **options)

    def build(self, schema: Schema, scales: Scales) -> AbstractWorldModel:
        return FastModel(schema, self.model, scales)

    def start(
        self, schema: Schema, known: np.ndarray | None, testable: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        structure = np.ones(StructureParts(schema).width, dtype=bool)
        if known is not None:
            structure[: len(known)] = known
        return structure, np.zeros_like(structure)

    def objective(self, now: Standing, rng: np.random.Generator) -> list[Term]:
        return [Term(1.0, now.estimate[None])]

    def discover(
        self,
        model: AbstractWorldModel,
        data: Prepared,
        estimate: np.ndarray,
        free: np.ndarray,
        weights: np.ndarray | None = None,
        settling: Settling | None = None,
    ) -> Discovery | None:
        return None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "preset_name": self.preset_name,
            "model": self.model.to_json(),
            "schedule": asdict(self.schedule),
        }
