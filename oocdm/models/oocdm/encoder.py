"""Attribute encoders: a small network for each field."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from oocdm.models.affine import affine
from oocdm.models.features import Featuriser
from oocdm.models.initial import xavier
from oocdm.models.oocdm.options import ModelOptions

LEAK = 0.01


class Encoder(nn.Module):
    """The encoders of one class's fields: input -> hidden (leaky ReLU) -> encoding (ReLU).

    An encoded attribute has learned channels, then with `enrich` the value itself (padded within
    its class).
    """

    def __init__(self, c: str, featuriser: Featuriser, options: ModelOptions) -> None:
        super().__init__()
        self.c, self.schema, self.fields = c, featuriser.schema, list(featuriser.schema.fields(c))
        self.flags_unknown = featuriser.flag_unknown
        self.widths = [featuriser.field_width(c, f) for f in self.fields]
        self.raw_width = featuriser.raw_width[c] if options.enrich else 0
        self.channels = options.encoding_dim + self.raw_width
        num, dim = len(self.fields), options.encoding_dim
        self.hidden_weight = xavier(num, featuriser.width[c], dim, fan_in=1, fan_out=1)
        with torch.no_grad():
            for i, width in enumerate(self.widths):
                self.hidden_weight[i] *= (1.0 / (width + dim)) ** 0.5
        self.hidden_bias = nn.Parameter(torch.zeros(num, dim))
        self.weight = xavier(num, dim, dim, fan_in=dim, fan_out=dim)
        self.bias = nn.Parameter(torch.zeros(num, dim))

    @property
    def width(self) -> int:
        """Numbers of one encoded object: all its attributes side by side."""
        return len(self.fields) * self.channels

    def forward(self, features: Tensor) -> Tensor:
        """Features (batch, object, field, input) encoded: (batch, object, field * channel)."""
        batch, objects, fields, width = features.shape
        x = features.reshape(batch * objects, fields, width).transpose(0, 1)
        biases = self.hidden_bias.unsqueeze(1), self.bias.unsqueeze(1)
        code = self._encode(x, self.hidden_weight, biases[0], self.weight, biases[1])
        return code.transpose(0, 1).flatten(1).unflatten(0, (batch, objects))

    def of_field(self, f: str, featuriser: Featuriser) -> Callable[[Tensor], Tensor]:
        """The encoder of one field, for known values: (.., object, *shape) to (row, channel)."""
        i = self.fields.index(f)
        layers = (self.hidden_bias[i], self.weight[i], self.bias[i])
        # Weights beyond are for padding, and for an input that says that a value is unknown.
        width = self.widths[i] - self.flags_unknown
        hidden_weight, dtype = self.hidden_weight[i, :width], self.weight.dtype

        def encode(values: Tensor) -> Tensor:
            x = featuriser.encode(self.c, f, values, dtype).flatten(0, 1)
            return self._encode(x, hidden_weight, *layers)

        return encode

    def _encode(
        self, x: Tensor, hidden_weight: Tensor, hidden_bias: Tensor, weight: Tensor, bias: Tensor
    ) -> Tensor:
        """(row, input) -> (row, channel), of one field or, with one more axis before, of many."""
        hidden = functional.leaky_relu_(affine(hidden_bias, x, hidden_weight), LEAK)
        code = affine(bias, hidden, weight).relu_()
        return torch.cat([code, x[..., : self.raw_width]], dim=-1) if self.raw_width else code

    def literal(self, i: int, features: Tensor) -> Tensor:
        """The encoding of one field as the paper writes it: (batch, object, channel)."""
        x = features[:, :, i]
        used = x[..., : self.widths[i]]
        hidden = used @ self.hidden_weight[i, : self.widths[i]] + self.hidden_bias[i]
        hidden = functional.leaky_relu(hidden, LEAK)
        code = (hidden @ self.weight[i] + self.bias[i]).relu()
        return torch.cat([code, x[..., : self.raw_width]], dim=-1)
