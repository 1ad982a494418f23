"""The parameters of an OOCDM, stacked by class, and the units of what it predicts.

One tensor holds the same layer of all target fields of a class.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from oocdm.models.named import ParametersByName
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.scales import Scales
from oocdm.schema import Schema


def xavier(*shape: int, fan_in: int, fan_out: int) -> nn.Parameter:
    """A Xavier-normal weight, whatever the layout of its axes."""
    return nn.Parameter(torch.randn(*shape) * (2.0 / (fan_in + fan_out)) ** 0.5)


class EncoderParameters(nn.Module):
    """Attribute encoders of one class: input -> hidden (leaky ReLU) -> encoding (ReLU)."""

    def __init__(self, widths: list[int], padded: int, dim: int) -> None:
        super().__init__()
        num_fields = len(widths)
        self.hidden_weight = xavier(num_fields, padded, dim, fan_in=1, fan_out=1)
        with torch.no_grad():
            for i, width in enumerate(widths):
                self.hidden_weight[i] *= (1.0 / (width + dim)) ** 0.5
        self.hidden_bias = nn.Parameter(torch.zeros(num_fields, dim))
        self.weight = xavier(num_fields, dim, dim, fan_in=dim, fan_out=dim)
        self.bias = nn.Parameter(torch.zeros(num_fields, dim))


class PredictorParameters(nn.Module):
    """The predictors of all target fields of one class, stacked along a target axis."""

    query_weight: Tensor
    query_bias: Tensor
    key_weight: Tensor
    key_bias: Tensor
    value_weight: Tensor
    value_bias: Tensor

    def __init__(
        self,
        options: ModelOptions,
        num_targets: int,
        own_width: int,
        source_widths: Mapping[str, int],
        num_equal: Mapping[str, int],
        num_extremes: int,
        num_parts: int,
        outputs: int,
    ) -> None:
        super().__init__()
        o, s = options, num_targets
        self.local_weight = xavier(own_width, s, o.local_dim, fan_in=own_width, fan_out=o.local_dim)
        self.local_bias = nn.Parameter(torch.zeros(s, o.local_dim))
        width = o.local_dim
        if "attention" in o.aggregators:
            d = o.local_dim
            width += d
            self.global_weight = _per_source(source_widths, s, d)
            self.global_bias = ParametersByName(
                {k: nn.Parameter(torch.zeros(s, d)) for k in source_widths}
            )
            for name in ("query", "key", "value"):
                setattr(self, f"{name}_weight", xavier(s, d, d, fan_in=d, fan_out=d))
                setattr(self, f"{name}_bias", nn.Parameter(torch.zeros(s, d)))
        if "sum" in o.aggregators:
            d = o.message_dim
            width += d
            self.message_own = xavier(own_width, s, d, fan_in=own_width, fan_out=d)
            self.message_weight = _per_source(source_widths, s, d)
            self.message_bias = ParametersByName(
                {k: nn.Parameter(torch.zeros(s, d)) for k in source_widths}
            )
            self.equal_weight = ParametersByName(
                {k: xavier(n, s, d, fan_in=n, fan_out=d) for k, n in num_equal.items() if n}
            )
        width += num_extremes
        h = o.decoder_dim
        self.decoder_weight1 = xavier(s, width, h, fan_in=width, fan_out=h)
        self.decoder_bias1 = nn.Parameter(torch.zeros(s, h))
        self.decoder_weight2 = xavier(s, h, h, fan_in=h, fan_out=h)
        self.decoder_bias2 = nn.Parameter(torch.zeros(s, h))
        self.decoder_weight3 = xavier(s, h, outputs, fan_in=h, fan_out=outputs)
        self.decoder_bias3 = nn.Parameter(torch.zeros(s, outputs))
        if o.structure_aware:
            self.structure_weight = nn.Parameter(torch.zeros(s, num_parts, h))
        if o.linear_path:
            # One linear map, and for each part of the structure what its presence adds to it.
            parts = num_parts if o.structure_aware else 0
            self.linear_weight = nn.Parameter(torch.zeros(s, 1 + parts, width, outputs))


def _per_source(widths: Mapping[str, int], num_targets: int, dim: int) -> ParametersByName:
    return ParametersByName(
        {k: xavier(w, num_targets, dim, fan_in=w, fan_out=dim) for k, w in widths.items()}
    )


class HeadScales(nn.Module):
    """Units of the predicted normals of one class, and bounds: (target, component) each."""

    def __init__(self, schema: Schema, class_name: str, scales: Scales, width: int) -> None:
        super().__init__()
        rows = [scales.fields[class_name, v] for v in schema.targets(class_name)]

        def stack(name: str, fill: float) -> Tensor:
            padded = [
                functional.pad(getattr(r, name), (0, width - len(getattr(r, name))), value=fill)
                for r in rows
            ]
            return torch.stack(padded) if padded else torch.zeros(0, width)

        for name, fill in (("value_mean", 0.0), ("value_sd", 1.0)):
            self.register_buffer(name, stack(name, fill))
        for name, fill in (("change_mean", 0.0), ("change_sd", 1.0)):
            self.register_buffer(name, stack(name, fill))
        fields = [schema.field(class_name, v) for v in schema.targets(class_name)]
        for name, sign in (("low", -1.0), ("high", 1.0)):
            is_boolean = [f.kind == "boolean" for f in fields]
            bounds = [
                sign if b else (sign * torch.inf if getattr(f, name) is None else getattr(f, name))
                for f, b in zip(fields, is_boolean, strict=True)
            ]
            self.register_buffer(
                name, torch.tensor(bounds, dtype=torch.float32).view(-1, 1), persistent=False
            )
        self.register_buffer("sigma_floor", torch.zeros(len(rows), width))

    value_mean: Tensor
    value_sd: Tensor
    change_mean: Tensor
    change_sd: Tensor
    low: Tensor
    high: Tensor
    sigma_floor: Tensor
