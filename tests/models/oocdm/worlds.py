"""Small worlds whose numbers can be followed by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch

from oocdm.data.snapshot import Snapshot
from oocdm.graph import Layout, Structure
from oocdm.methods import Oocdm
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts.part import Reading
from oocdm.models.oocdm.predictor import LATE
from oocdm.models.oocdm.view import View
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema


class Ant(ObjectClass):
    x = Real()
    cell = Integer(0, 2, shape=(2,))
    awake = Boolean()
    colour = Categorical(["red", "blue"], static=True)
    push = Real(action=True)


class Hill(ObjectClass):
    x = Real()
    cell = Integer(0, 2)


SCHEMA = Schema(Ant, Hill)


@dataclass(frozen=True)
class AtOnce(Oocdm):
    """Learns with costly parts from the first step on, too."""

    name: ClassVar[str] = "at-once"

    def start(
        self, layout: Layout, known: np.ndarray | None, testable: np.ndarray
    ) -> tuple[Structure, Structure]:
        late = layout.ways(LATE)
        start, free = super().start(layout, known, testable)
        return start | late, free | late


def ants() -> Snapshot:
    """Three ants and one hill; the third ant is padding, the second's x is unknown."""
    present = {"Ant": torch.tensor([[True, True, False]]), "Hill": torch.tensor([[True]])}
    snapshot = Snapshot.of(
        SCHEMA,
        {
            "Ant": {
                "x": torch.tensor([[2.0, 0.0, 0.0]]),
                "cell": torch.tensor([[[0, 2], [0, 2], [0, 0]]]),
                "awake": torch.tensor([[1, 0, 0]]),
                "colour": torch.tensor([[0, 1, 0]]),
                "push": torch.tensor([[0.5, -1.0, 0.0]]),
            },
            "Hill": {"x": torch.tensor([[5.0]]), "cell": torch.tensor([[1]])},
        },
        present,
    )
    known = {**snapshot.observed["Ant"], "x": torch.tensor([[True, False, False]])}
    return replace(snapshot, observed={**snapshot.observed, "Ant": known})


def model_of(options: ModelOptions | None = None) -> OocdmModel:
    """A model of ants, with random weights also where they begin as zeros."""
    torch.manual_seed(0)
    model = OocdmModel(SCHEMA, options or ModelOptions()).double()
    with torch.no_grad():
        for parameter in model.parameters():
            if not parameter.any():
                parameter.normal_(std=0.3)
    return model


def reading_of(model: OocdmModel) -> Reading:
    """How single targets of a model read states."""
    encoders = {c: model.encoders[c] for c in model.schema.classes}
    of_fields = {
        (c, f): encoder.of_field(f, model.featuriser)
        for c, encoder in encoders.items()
        for f in encoder.fields
    }
    return Reading(encoders, of_fields, lambda now: model.see(model.inputs(now)))


def view_of(model: OocdmModel, before: Snapshot) -> View:
    """A state as single targets of a model see it."""
    identities = {c: model.identities[c] for c in model.identities}
    return View(reading_of(model).of_fields, model.dtype, before, identities)
