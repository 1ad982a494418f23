"""Two small methods without mistakes, and ways to break them in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from oocdm.checks.small_data import small_data
from oocdm.data.dataset import Dataset
from oocdm.methods import AbstractMethod, AbstractVariableMethod
from oocdm.methods.class_method import AbstractClassMethod
from oocdm.models import AbstractVariableModel, Encoded, Setting, Stack
from oocdm.models.features import Inputs
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prediction import Predictions
from oocdm.models.scales import Scales
from oocdm.models.variable_model import Masks
from oocdm.models.world_model import AbstractWorldModel
from oocdm.schema import Schema

DATA = small_data(seed=0)
BATCH = DATA.transitions(slice(0, 300, 25))  # of all episodes
OPTIONS = ModelOptions.preset("paper")

Change = Callable[[Predictions, Inputs], Any]


class Lines(AbstractVariableModel):
    """Every variable is a linear function of its parents."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.map = Stack(self.num_outputs, self.num_inputs * self.input_width, self.output_width)

    def encode(self, variables: Tensor) -> Encoded:
        return (variables.transpose(0, 1),)

    def predict(self, encoded: Encoded, masks: Masks) -> Tensor:
        seen = encoded[0] * masks.movedim(2, 0).unsqueeze(-1)  # (output, batch, input, number)
        out: Tensor = self.map(seen.flatten(2))
        return out


@dataclass(frozen=True)
class Toy(AbstractVariableMethod):
    """Knows objects one by one."""

    name: ClassVar[str] = "toy"
    kind: ClassVar[type[AbstractVariableModel]] = Lines

    def network(self, setting: Setting) -> AbstractVariableModel:
        return self.kind(setting)


class Shared(OocdmModel):
    """Objects of a class share their networks; all predictions come from `forward`."""

    compile_for = AbstractWorldModel.compile_for


@dataclass(frozen=True)
class SharedToy(AbstractClassMethod):
    """Takes any numbers of objects."""

    name: ClassVar[str] = "shared-toy"
    kind: ClassVar[type[OocdmModel]] = Shared
    model: ModelOptions = OPTIONS

    def build(
        self, schema: Schema, scales: Scales, counts: Mapping[str, int] | None = None
    ) -> OocdmModel:
        return self.kind(schema, self.model, scales)


def broken(parent: type[AbstractMethod] = Toy, **members: Any) -> AbstractMethod:
    """A toy with some members of its class replaced."""
    kind = type("Broken", (parent,), {"name": "broken", **members})
    made: AbstractMethod = dataclass(frozen=True)(kind)()
    return made


def with_model(parent: type[Toy] | type[SharedToy] = Toy, **members: Any) -> AbstractMethod:
    """A toy with some members of its model's class replaced."""
    return broken(parent, kind=type("Model", (parent.kind,), members))


def predicting(change: Change, parent: type[Toy] | type[SharedToy] = Toy) -> AbstractMethod:
    """A toy with something done to every prediction of its model."""

    def forward(self: Any, inputs: Inputs, *structures: Tensor) -> Any:
        found = parent.kind.forward(self, inputs, *structures)
        return tuple(change(each, inputs) for each in found)

    return with_model(parent, forward=forward)


def with_mean(c: str, change: Callable[[Tensor, Inputs], Tensor]) -> Change:
    """Predictions with other means of one class."""
    return with_class(c, lambda p, inputs: replace(p, mean=change(p.mean, inputs)))


def with_class(c: str, change: Callable[[Any, Inputs], Any]) -> Change:
    """Predictions with others of one class."""

    def apply(found: Predictions, inputs: Inputs) -> Predictions:
        return Predictions(found.schema, {**found.classes, c: change(found.classes[c], inputs)})

    return apply


def built(method: AbstractMethod, seed: int = 0) -> AbstractWorldModel:
    """A model of a method for the small data."""
    torch.manual_seed(seed)
    return method.build(DATA.schema, Scales.measure(DATA.transitions()), DATA.max_counts)


def with_absent_balls() -> Dataset:
    """The small data; every other episode has one ball less."""
    is_absent = np.zeros_like(DATA.present["Ball"])
    is_absent[DATA.episode % 2 == 1, 1] = True

    def kept(array: np.ndarray) -> np.ndarray:
        found = array.copy()
        found[is_absent] = 0
        return found

    def without(fields: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {f: kept(array) for f, array in fields.items()}

    return Dataset(
        DATA.schema,
        {**DATA.values, "Ball": without(DATA.values["Ball"])},
        {**DATA.present, "Ball": kept(DATA.present["Ball"])},
        {**DATA.observed, "Ball": without(DATA.observed["Ball"])},
        *(DATA.episode, DATA.step, DATA.reward, DATA.terminated, DATA.truncated),
    )
