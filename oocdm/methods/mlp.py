"""MLP: one network from all variables to all variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn import functional

from oocdm.methods.dense import AbstractDenseMethod, AbstractDenseModel
from oocdm.methods.variable_method import WidthByObjects
from oocdm.models.variable_model import AbstractVariableModel, Encoded, Setting, Stack
from oocdm.reading import Size

WIDTH = WidthByObjects(64, 16, 64, 256)


class MlpModel(AbstractDenseModel):
    """Three layers over all variables side by side, then a linear map for each output."""

    def __init__(self, setting: Setting, width: int) -> None:
        super().__init__(setting)
        self.layer1 = Stack(1, self.num_inputs * self.input_width, width)
        self.layer2 = Stack(1, width, width)
        self.layer3 = Stack(1, width, width)
        self.out = Stack(self.num_outputs, width, self.output_width)

    def encode(self, variables: Tensor) -> Encoded:
        x = variables.transpose(0, 1).flatten(1).unsqueeze(0)
        for layer in (self.layer1, self.layer2, self.layer3):
            x = functional.leaky_relu(layer(x))
        return (x,)

    def predict_all(self, encoded: Encoded) -> Tensor:
        out: Tensor = self.out(encoded[0].expand(self.num_outputs, -1, -1))
        return out


@dataclass(frozen=True)
class Mlp(AbstractDenseMethod):
    """One perceptron from all variables to all; finds no graph.

    >>> Mlp().name
    'mlp'
    """

    name: ClassVar[str] = "mlp"

    width: Size | None = None  # of each layer; by default it grows with the objects

    def network(self, setting: Setting) -> AbstractVariableModel:
        return MlpModel(setting, WIDTH(setting.counts, self.width))
