"""The fast OOCDM: equal to the reference, with dense products instead of loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from oocdm.graph import ClassGraph, VariableGraph
from oocdm.models.composed import LEAK, ComposedPredictor
from oocdm.models.features import Inputs
from oocdm.models.network import AbstractClassModel
from oocdm.models.prediction import Predictions
from oocdm.models.targets import SlimTargets, can_be_slim
from oocdm.models.toggled import ToggledPredictor
from oocdm.models.wiring import Wiring
from oocdm.models.world_model import Predictor, SnapshotPredictor, Structures


class FastModel(AbstractClassModel):
    """OOCDM with masked weights, batched over fields, targets and structures."""

    def encode(self, inputs: Inputs) -> dict[str, Tensor]:
        """Encoded attributes of every object: (batch, object, field * channel) a class."""
        encoded = {}
        for c, features in inputs.features.items():
            p = self.encoder(c)
            batch, objects, fields, width = features.shape
            x = features.reshape(batch * objects, fields, width).transpose(0, 1)
            hidden = torch.baddbmm(p.hidden_bias.unsqueeze(1), x, p.hidden_weight)
            hidden = functional.leaky_relu(hidden, LEAK)
            code = torch.baddbmm(p.bias.unsqueeze(1), hidden, p.weight).relu()
            if self.options.enrich:
                code = torch.cat([code, x[..., : self.featuriser.raw_width[c]]], dim=-1)
            encoded[c] = code.transpose(0, 1).flatten(1).unflatten(0, (batch, objects))
        return encoded

    def decode(self, inputs: Inputs, structures: Structures) -> Predictions:
        self._check_shares(inputs, structures)
        return self._predict(inputs, self.encode(inputs), self._compose(structures))

    def decode_each(self, inputs: Inputs, structures: list[Structures]) -> list[Predictions]:
        encoded = self.encode(inputs)
        return [self._predict(inputs, encoded, self._compose(each)) for each in structures]

    @torch.no_grad()
    def under(self, structures: Structures) -> Predictor:
        composed = self._compose(structures)
        return lambda inputs: self._predict(inputs, self.encode(inputs), composed)

    def with_graph(self, graph: ClassGraph | VariableGraph) -> SnapshotPredictor:
        predict = super().with_graph(graph)
        slim = self.slim(graph) if isinstance(graph, ClassGraph) else None
        if slim is None:
            return predict
        return lambda before: slim.all(before) if before.is_all_known else predict(before)

    def slim(self, graph: ClassGraph) -> SlimTargets | None:
        if not can_be_slim(self.options):
            return None
        return SlimTargets(self, self.structures(graph))

    @torch.no_grad()
    def around(self, structure: np.ndarray, parts: Mapping[str, np.ndarray]) -> Predictor:
        composed = {c: ToggledPredictor(self, c, structure, each) for c, each in parts.items()}

        @torch.no_grad()
        def predict(inputs: Inputs) -> Predictions:
            values, known = {}, {}
            for c, predictor in composed.items():
                times = predictor.num_structures
                values[c] = inputs.values[c].repeat(times, 1, 1, 1)
                known[c] = inputs.known[c].repeat(times, 1, 1)
            repeated = replace(inputs, values=values, known=known)
            return self._predict(repeated, self.encode(inputs), composed)

        return predict

    def _compose(self, structures: Structures) -> dict[str, ComposedPredictor]:
        wiring = Wiring(self, structures)
        return {c: ComposedPredictor(self, c, wiring) for c in self.predictors}

    def _predict(
        self,
        inputs: Inputs,
        encoded: dict[str, Tensor],
        composed: Mapping[str, ComposedPredictor],
    ) -> Predictions:
        classes = {}
        for c, predictor in composed.items():
            out, linear = predictor(inputs, encoded)
            has_self = predictor.wiring.spread(predictor.has_self, len(out))
            classes[c] = self.head(c, out, linear, inputs, has_self.unsqueeze(1))
        return Predictions(self.schema, classes)
