"""All targets under one graph, each on its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import torch
from torch.nn import functional

from oocdm.data.snapshot import Snapshot
from oocdm.models.network import AbstractClassModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prediction import (
    CategoricalField,
    ClassPrediction,
    FieldDistribution,
    NormalField,
    Predictions,
    log_floored_softmax,
)
from oocdm.models.slim import SlimTarget
from oocdm.models.tabled import TabledTarget
from oocdm.models.view import FieldName, View
from oocdm.models.wiring import Wiring
from oocdm.models.world_model import Structures


def can_be_slim(options: ModelOptions) -> bool:
    """Whether networks with these options can be made slim."""
    return options.aggregators == ("sum",) and options.clamp_means and options.skip_unrelated


class SlimTargets:
    """All targets under one structure; each is computed when it is asked for."""

    @torch.no_grad()
    def __init__(self, model: AbstractClassModel, structure: Structures) -> None:
        self._model, self._dtype = model, model.dtype
        schema, wiring = model.schema, Wiring(model, structure)
        self._targets = {
            (c, v): TabledTarget(model, SlimTarget(model, wiring, c, v))
            for c in schema.classes
            for v in schema.targets(c)
        }

    def __call__(self, before: Snapshot) -> SlimPredictions:
        """Predictions from a state of which everything is known, to be asked without gradients."""
        return SlimPredictions(self._targets, self._view(before))

    @torch.no_grad()
    def all(self, before: Snapshot) -> Predictions:
        """Predictions of all targets, stacked as other predictors give them."""
        view, model = self._view(before), self._model
        classes = {}
        for c in model.predictors:
            width = model.featuriser.components[c]
            means, sigmas, logits = [], [], {}
            for v in model.schema.targets(c):
                field, leading = model.schema.field(c, v), before.present[c].shape
                first, second = self._targets[c, v](view)
                if second is None:
                    logits[v] = first.view(*leading, field.size, field.num_values or 0)
                    first = first.new_zeros(len(first), width)
                    second = torch.ones_like(first)
                first, second = (t.unflatten(0, leading) for t in (first, second))
                means.append(functional.pad(first, (0, width - first.shape[2])))
                sigmas.append(functional.pad(second, (0, width - second.shape[2]), value=1.0))
            classes[c] = ClassPrediction(torch.stack(means, 2), torch.stack(sigmas, 2), logits)
        return Predictions(model.schema, classes)

    def _view(self, before: Snapshot) -> View:
        self._model.check_schema(before.schema)
        return View(self._model, self._dtype, before)


@final
class SlimPredictions:
    """Distributions of the targets of one state, indexed as `predictions["Block", "s1"]`."""

    def __init__(self, targets: Mapping[FieldName, TabledTarget], view: View) -> None:
        self._targets, self._view = targets, view

    def __getitem__(self, key: FieldName) -> FieldDistribution:
        target = self._targets[key]
        field, first, second = target.field, *target(self._view)
        shape = (*self._view.now.present[key[0]].shape, *field.shape)
        if second is None:
            logits = first.view(*shape, field.num_values or 0)
            return CategoricalField(field, log_floored_softmax(logits))
        return NormalField(field, first.view(shape), second.view(shape))
