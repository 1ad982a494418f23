"""What OOCDM, OOFULL and their augmented forms share: the network of a preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from oocdm.data.dataset import Dataset
from oocdm.data.object_names import check_steady_names
from oocdm.methods.method import AbstractMethod, Schedule
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.scales import Scales
from oocdm.schema import Schema

PAPER_SCHEDULE = Schedule(
    iterations=50,
    steps_per_iteration=1000,
    polish_steps=0,
    patience=50,
    optimiser="adam",
    warm_up=0,
    learning_rate=1e-3,
    final_learning_rate=1e-3,
    max_gradient_norm=0.5,
    resolution=0.0,
    final_resolution=0.0,
    held_out=0.0,
)


@dataclass(frozen=True)
class AbstractClassMethod(AbstractMethod):
    """A method whose networks are shared by the objects of a class, so that numbers may vary."""

    model: ModelOptions = field(default_factory=ModelOptions)

    @classmethod
    def preset(cls, name: str, **options: Any) -> Self:
        options = {"model": ModelOptions.preset(name), **options}
        if name == "paper":
            options = {"schedule": PAPER_SCHEDULE, "likelihood": "normal", **options}
        return cls(**options)

    @property
    def knows_objects(self) -> bool:
        return self.model.identity_dim > 0

    def check_data(self, data: Dataset) -> None:
        if self.knows_objects:
            check_steady_names(f"Method `{self.name}`", data)

    def build(
        self, schema: Schema, scales: Scales, counts: Mapping[str, int] | None = None
    ) -> OocdmModel:
        return OocdmModel(schema, self.model, scales)

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "model": self.model.to_json()}
