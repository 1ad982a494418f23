"""The network that encodes one field, with its weights at hand."""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor
from torch.nn import functional

from oocdm.models.composed import LEAK
from oocdm.models.network import AbstractClassModel


@final
class FieldEncoder:
    """Encodes known values of one field as the model does when it is made."""

    def __init__(self, model: AbstractClassModel, c: str, f: str) -> None:
        self.c, self.f = c, f
        self._featuriser = model.featuriser
        p, i = model.encoder(c), list(model.schema.fields(c)).index(f)
        inputs = model.featuriser.field_width(c, f) - model.options.flag_unknown
        # Weights beyond are for padding, and for an input that says that a value is unknown.
        self._hidden_weight, self._hidden_bias = p.hidden_weight[i, :inputs], p.hidden_bias[i]
        self._weight, self._bias = p.weight[i], p.bias[i]
        self._raw_width = model.featuriser.raw_width[c] if model.options.enrich else 0

    def __call__(self, values: Tensor, dtype: torch.dtype) -> Tensor:
        """Values (batch, object, *shape) encoded: (batch * object, channel)."""
        x = self._featuriser.encode(self.c, self.f, values, dtype).flatten(0, 1)
        hidden = torch.addmm(self._hidden_bias, x, self._hidden_weight)
        hidden = functional.leaky_relu_(hidden, LEAK)
        code = torch.addmm(self._bias, hidden, self._weight).relu_()
        return torch.cat([code, x[:, : self._raw_width]], 1) if self._raw_width else code
