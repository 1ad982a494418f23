"""All targets under one graph, each on its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import torch
from torch.nn import functional

from oocdm.data.snapshot import Snapshot
from oocdm.models.network import AbstractClassModel
from oocdm.models.options import ModelOptions
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
        """Predictions from a state of which everything is known."""
        return SlimPredictions(self._targets, View(self._model, self._dtype, before))

    @torch.no_grad()
    def all(self, before: Snapshot) -> Predictions:
        """Predictions of all targets, stacked as other predictors give them."""
        view, model = View(self._model, self._dtype, before), self._model
        classes = {}
        for c in model.predictors:
            width = model.featuriser.components[c]
            means, sigmas, logits = [], [], {}
            for v in model.schema.targets(c):
                target = self._targets[c, v]
                first, second = target(view)
                if second is None:
                    logits[v] = first
                    first = first.new_zeros(*first.shape[:2], width)
                    second = torch.ones_like(first)
                means.append(functional.pad(first, (0, width - first.shape[2])))
                sigmas.append(functional.pad(second, (0, width - second.shape[2]), value=1.0))
            classes[c] = ClassPrediction(torch.stack(means, 2), torch.stack(sigmas, 2), logits)
        return Predictions(model.schema, classes)


@final
class SlimPredictions:
    """Distributions of the targets of one state, indexed as `predictions["Block", "s1"]`."""

    def __init__(self, targets: Mapping[FieldName, TabledTarget], view: View) -> None:
        self._targets, self._view = targets, view

    @torch.no_grad()
    def __getitem__(self, key: FieldName) -> FieldDistribution:
        target = self._targets[key]
        first, second = target(self._view)
        is_single = target.field.shape == ()
        if second is None:
            log_probabilities = log_floored_softmax(first)
            return CategoricalField(
                target.field, log_probabilities.squeeze(-2) if is_single else log_probabilities
            )
        if is_single:
            first, second = first.squeeze(-1), second.squeeze(-1)
        return NormalField(target.field, first, second)
