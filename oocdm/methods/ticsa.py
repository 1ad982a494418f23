"""TICSA: the probability of every edge is learned by gradients, beside the predictors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from oocdm.discovery import Discovery
from oocdm.graph import Evidence
from oocdm.methods.method import Look, Standing, Term
from oocdm.methods.variable_method import AbstractVariableMethod, width_by_objects
from oocdm.models.variable_model import AbstractVariableModel, Encoded, Masks, Setting, TwoLayers
from oocdm.models.world_model import AbstractWorldModel

ENCODER_WIDTH, ENCODING, PREDICTOR_WIDTH = 32, 4, 32
FIRST_LOGIT = (
    1.0  # edges are rather there at first, so that they are learned before they are judged
)
LOGIT_SPEED = 10.0  # logits have further to go than weights
TEMPERATURES = (1.0, 0.1)  # of relaxed edges, at the begin and at the end of learning


class TicsaModel(AbstractVariableModel):
    """A perceptron for each output over all encodings, those that are not parents masked off."""

    def __init__(self, setting: Setting, width: int) -> None:
        super().__init__(setting)
        outputs = self.num_outputs
        self.encoder = TwoLayers(self.num_inputs, self.input_width, ENCODER_WIDTH, ENCODING)
        inputs = self.num_inputs * ENCODING
        self.lower = TwoLayers(outputs, inputs, width, PREDICTOR_WIDTH)
        self.upper = TwoLayers(outputs, PREDICTOR_WIDTH, PREDICTOR_WIDTH, self.output_width)
        first = torch.full((self.num_inputs * outputs,), FIRST_LOGIT / LOGIT_SPEED)
        self.slow_logits = nn.Parameter(first)

    @property
    def logits(self) -> Tensor:
        """The log-odds of every edge."""
        return LOGIT_SPEED * self.slow_logits

    def encode(self, variables: Tensor) -> Encoded:
        return (self.encoder(variables),)

    def predict(self, encoded: Encoded, masks: Masks) -> Tensor:
        seen = masks.permute(2, 0, 1).unsqueeze(-1) * encoded[0].transpose(0, 1)
        hidden = self.lower(seen.flatten(2))  # of (output, batch, input * channel)
        out: Tensor = self.upper(functional.leaky_relu(hidden))
        return out


@dataclass(frozen=True)
class Ticsa(AbstractVariableMethod):
    """Draws relaxed graphs from learned probabilities, and pays for every probable edge.

    >>> Ticsa().sparsity
    1.0
    """

    name: ClassVar[str] = "ticsa"

    sparsity: float = 1.0  # price of all edges together, a mean over the inputs of an output
    width: int | None = None  # of the first layer; by default it grows with the objects

    def network(self, setting: Setting) -> AbstractVariableModel:
        width = self.width or width_by_objects(setting.counts, 24, 4, 32, 64)
        return TicsaModel(setting, width)

    def objective(self, now: Standing, rng: np.random.Generator) -> list[Term]:
        model = _network(now.model)
        if not now.free.any():
            return [Term(1.0, now.estimate[None])]
        begin, end = TEMPERATURES
        temperature = begin * (end / begin) ** now.share
        noise = rng.logistic(size=(self.schedule.batch_size, len(now.estimate)))
        relaxed = torch.sigmoid((model.logits + _like(noise, model)) / temperature)
        fixed = _like(now.estimate, model)
        return [Term(1.0, torch.where(_like(now.free, model) > 0, relaxed, fixed))]

    def penalty(self, model: AbstractWorldModel) -> Tensor | None:
        network = _network(model)
        return self.sparsity * network.logits.sigmoid().sum() / network.num_inputs

    def discover(self, look: Look) -> Discovery | None:
        """Edges that are more probable than not; there is nothing to test."""
        free = look.free
        if not free.any():
            return None
        network = _network(look.model)
        probability = network.logits.sigmoid().detach().cpu().double().numpy()
        found = probability > 0.5
        evidence = replace(
            Evidence.nothing(network.edges),
            score=np.where(free, probability, np.nan),
            decision=np.where(free, np.where(found, "yes", "no"), "untestable"),
        )
        return Discovery(np.where(free, found, look.estimate), evidence)


def _network(model: AbstractWorldModel) -> TicsaModel:
    assert isinstance(model, TicsaModel)  # as built
    return model


def _like(values: np.ndarray, model: AbstractWorldModel) -> Tensor:
    return torch.as_tensor(values).to(model.device, model.dtype)
