"""A method of one's own in one file: every variable is a linear function of all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from oocdm.methods import AbstractDenseMethod, AbstractDenseModel
from oocdm.models import AbstractVariableModel, Encoded, Setting, Stack


class LinearModel(AbstractDenseModel):
    """One linear map for each output; `encode` and `predict_all` are all that a network needs."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.map = Stack(self.num_outputs, self.num_inputs * self.input_width, self.output_width)

    def encode(self, variables: Tensor) -> Encoded:
        return (variables.transpose(0, 1).flatten(1),)  # (batch, all numbers)

    def predict_all(self, encoded: Encoded) -> Tensor:
        out: Tensor = self.map(encoded[0].expand(self.num_outputs, -1, -1))
        return out


@dataclass(frozen=True)
class Linear(AbstractDenseMethod):
    """The options of a method are the fields of its dataclass; training is that of `fit`."""

    name: ClassVar[str] = "linear"

    def network(self, setting: Setting) -> AbstractVariableModel:
        return LinearModel(setting)
