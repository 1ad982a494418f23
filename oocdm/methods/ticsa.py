"""TICSA: the probability of every edge is learned by gradients, beside the predictors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from oocdm.discovery import Discovery
from oocdm.graph import Evidence
from oocdm.methods.method import Inquiry, LearningState, Term
from oocdm.methods.variable_method import AbstractVariableMethod, WidthByObjects
from oocdm.models.variable_model import AbstractVariableModel, Encoded, Masks, Setting, TwoLayers
from oocdm.models.world_model import AbstractWorldModel
from oocdm.reading import NotNegative, Size

ENCODER_WIDTH, ENCODING, PREDICTOR_WIDTH = 32, 4, 32
WIDTH = WidthByObjects(24, 4, 32, 64)
# Edges are rather there at first, so that they are learned before they are judged.
FIRST_LOGIT = 1.0
TEMPERATURES = (1.0, 0.1)  # of relaxed edges, at the begin and at the end of learning


class TicsaModel(AbstractVariableModel):
    """A perceptron for each output over all encodings, those that are not parents masked off."""

    output_shares: Tensor  # (output,): what an output counts in the loss, a mean over objects

    def __init__(self, setting: Setting, width: int) -> None:
        super().__init__(setting)
        outputs = self.num_outputs
        self.encoder = TwoLayers(self.num_inputs, self.input_width, ENCODER_WIDTH, ENCODING)
        inputs = self.num_inputs * ENCODING
        self.lower = TwoLayers(outputs, inputs, width, PREDICTOR_WIDTH)
        self.upper = TwoLayers(outputs, PREDICTOR_WIDTH, PREDICTOR_WIDTH, self.output_width)
        # The log-odds of every edge.
        self.logits = nn.Parameter(torch.full((self.num_inputs * outputs,), FIRST_LOGIT))
        shares = [
            torch.full((n * len(self.schema.targets(c)),), 1 / max(n, 1))
            for c, n in self.counts.items()
        ]
        self.register_buffer("output_shares", torch.cat(shares), persistent=False)

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

    sparsity: NotNegative = 1.0  # nats that all edges into an output cost together
    width: Size | None = None  # of the first layer; by default it grows with the objects

    def network(self, setting: Setting) -> AbstractVariableModel:
        return TicsaModel(setting, WIDTH(setting.counts, self.width))

    def objective(self, now: LearningState, rng: np.random.Generator) -> list[Term]:
        if not now.free.any():
            return super().objective(now, rng)
        model, (begin, end) = _network(now.model), TEMPERATURES
        temperature = begin * (end / begin) ** now.share
        noise = rng.logistic(size=(self.schedule.batch_size, len(now.estimate.layout)))
        relaxed = torch.sigmoid((model.logits + model.rows(noise)) / temperature)
        is_free, fixed = model.rows(now.free.flags) > 0, model.rows(now.estimate.flags)
        return [Term(1.0, torch.where(is_free, relaxed, fixed))]

    def penalty(self, now: LearningState) -> Tensor | None:
        """The price of edges, of those that may be left out."""
        if not now.free.any():
            return None
        network = _network(now.model)
        probability = network.logits.sigmoid() * network.rows(now.free.flags)
        prices = probability.view(network.num_inputs, -1).mean(0)
        return self.sparsity * (prices * network.output_shares).sum()

    def discover(self, inquiry: Inquiry) -> Discovery | None:
        """Edges that are more probable than not: they were learned, and data are not asked."""
        if not inquiry.free.any():
            return None
        network, free = _network(inquiry.model), inquiry.free
        probability = network.logits.sigmoid().detach().cpu().double().numpy()
        found = probability > 0.5
        evidence = Evidence.of_test(network.edges, free.edges, found, ~found, score=probability)
        structure = free.layout.structure(found).where(free, inquiry.estimate)
        return Discovery(structure, evidence)


def _network(model: AbstractWorldModel) -> TicsaModel:
    assert isinstance(model, TicsaModel)  # as built
    return model
