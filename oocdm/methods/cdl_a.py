"""CDL-A: CDL with attention in place of the maximum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from oocdm.errors import ModelError
from oocdm.methods.cdl import Cdl, CdlModel
from oocdm.methods.variable_method import ENCODING, WidthByObjects
from oocdm.models.initial import xavier
from oocdm.models.variable_model import AbstractVariableModel, Encoded, Masks, Setting
from oocdm.reading import Size

HEADS = 2
KEYS = WidthByObjects(64, 16, 32, 256)
HIDDEN = -1e30  # finite: an output without parents has gradients too


class CdlAttentionModel(CdlModel):
    """Each output has a query of its own; encodings are values, and keys are linear in them."""

    def __init__(self, setting: Setting, encoding: int, keys: int) -> None:
        super().__init__(setting, encoding)
        self.key_weight = xavier(encoding, keys, fan_in=encoding, fan_out=keys)
        self.key_bias = nn.Parameter(torch.zeros(keys))
        self.query = xavier(self.num_outputs, keys, fan_in=keys, fan_out=keys)

    def encode(self, variables: Tensor) -> Encoded:
        (encoded,) = super().encode(variables)
        keys = (encoded @ self.key_weight + self.key_bias).unflatten(-1, (HEADS, -1))
        query = self.query.unflatten(-1, (HEADS, -1)) / (keys.shape[-1] ** 0.5)
        scores = keys.permute(1, 2, 0, 3) @ query.permute(1, 2, 0)  # (batch, head, input, output)
        values = encoded.unflatten(-1, (HEADS, -1)).permute(1, 2, 0, 3)
        return scores.transpose(2, 3).contiguous(), values.contiguous()

    def pool(self, encoded: Encoded, masks: Masks) -> Tensor:
        scores, values = encoded
        is_hidden = masks.transpose(1, 2).unsqueeze(1) <= 0  # (batch or 1, 1, output, input)
        attention = scores.masked_fill(is_hidden, HIDDEN).softmax(-1)
        # An output without parents attends to nothing.
        attention = torch.where(is_hidden, 0.0, attention)
        return (attention @ values).permute(2, 0, 1, 3).flatten(2)


@dataclass(frozen=True)
class CdlA(Cdl):
    """As `cdl`, with attention over the parents in place of their maximum.

    >>> CdlA().name
    'cdl-a'
    """

    name: ClassVar[str] = "cdl-a"

    keys: Size | None = None  # width of keys; by default it grows with the objects

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("encoding", "keys"):
            value = getattr(self, option)
            if value is not None and value % HEADS:
                raise ModelError(
                    f"Method `{self.name}`: `{option}`: expected an even number, since two heads "
                    f"share it, got {value!r}."
                )

    def network(self, setting: Setting) -> AbstractVariableModel:
        encoding = ENCODING(setting.counts, self.encoding)
        return CdlAttentionModel(setting, encoding, KEYS(setting.counts, self.keys))
