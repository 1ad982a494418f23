"""CDL: encodings of single variables, pooled by their maximum; edges by leaving variables out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from oocdm.discovery import Discovery, Rule, Search, discover_leave_one_out
from oocdm.graph import Structure
from oocdm.methods.method import Inquiry, LearningState, Term
from oocdm.methods.variable_method import ENCODING, AbstractVariableMethod
from oocdm.models.variable_model import (
    AbstractVariableModel,
    Encoded,
    Masks,
    Setting,
    TwoLayers,
    parents_of,
)
from oocdm.reading import Count, Size

ENCODER_WIDTH, PREDICTOR_WIDTH = 64, 32
MAX_SCORED = 5000


class CdlModel(AbstractVariableModel):
    """Every variable is encoded once; a predictor for each output reads the pooled parents."""

    def __init__(self, setting: Setting, encoding: int) -> None:
        super().__init__(setting)
        self.encoder = TwoLayers(self.num_inputs, self.input_width, ENCODER_WIDTH, encoding)
        self.predictor = TwoLayers(self.num_outputs, encoding, PREDICTOR_WIDTH, self.output_width)

    def encode(self, variables: Tensor) -> Encoded:
        return (self.encoder(variables).relu(),)

    def predict(self, encoded: Encoded, masks: Masks) -> Tensor:
        out: Tensor = self.predictor(self.pool(encoded, masks))
        return out

    def pool(self, encoded: Encoded, masks: Masks) -> Tensor:
        """The parents' encodings as one for each output: (output, batch, channel)."""
        return masked_max(encoded[0], masks > 0)


@dataclass(frozen=True)
class Cdl(AbstractVariableMethod):
    """Learns with the full graph, with one edge of each output left out, and with the estimate.

    An edge is in the graph if leaving it out of the full graph costs more than `threshold` nats.
    Without a threshold edges are tested as those of `oocdm` are.

    >>> Cdl().threshold
    0.1
    """

    name: ClassVar[str] = "cdl"

    threshold: float | None = 0.1
    encoding: Size | None = None  # channels of a variable; by default they grow with the objects
    max_scored: Count | None = MAX_SCORED  # transitions used by one discovery, at most

    @classmethod
    def preset(cls, name: str, **options: Any) -> Self:
        limit = None if name == "paper" else MAX_SCORED
        return super().preset(name, **{"max_scored": limit, **options})

    @property
    def weighs_beliefs(self) -> bool:
        return self.threshold is None

    def with_threshold(self, threshold: float) -> Self:
        return replace(self, threshold=threshold)

    def network(self, setting: Setting) -> AbstractVariableModel:
        return CdlModel(setting, ENCODING(setting.counts, self.encoding))

    def objective(self, now: LearningState, rng: np.random.Generator) -> list[Term]:
        if not now.free.any():
            return super().objective(now, rng)
        full = now.estimate | now.free
        dropped = leave_out_one(full, now.free, self.schedule.batch_size, rng)
        return [Term(1.0, each) for each in (full.flags[None], dropped, now.estimate.flags[None])]

    def discover(self, inquiry: Inquiry) -> Discovery | None:
        if not inquiry.free.any():
            return None
        model, fraction = inquiry.model, self.schedule.resolution
        search = Search(
            inquiry.data.rows(slice(0, self.max_scored)),
            inquiry.free,
            Rule(threshold=self.threshold),
            resolution=model.resolution(fraction) if fraction else None,
            weights=inquiry.weights,
            on_settled=inquiry.on_settled,
        )
        return discover_leave_one_out(model, inquiry.estimate, search)


def leave_out_one(
    full: Structure, free: Structure, count: int, rng: np.random.Generator
) -> np.ndarray:
    """The full graph so many times, each less one edge into every output, if any is free."""
    columns = np.stack(full.layout.by_target, axis=1)  # (input, output)
    rows = np.repeat(full.flags[None], count, axis=0)
    drawn = np.where(free.flags[columns], rng.random((count, *columns.shape)), -1.0)
    out = drawn.argmax(1)
    is_free = np.take_along_axis(drawn, out[:, None], 1)[:, 0] >= 0
    samples, outputs = np.nonzero(is_free)
    rows[samples, columns[out[is_free], outputs]] = False
    return rows


class _Largest(torch.autograd.Function):
    """The maximum along the first axis, whose gradient goes to all inputs that are the largest.

    That of `amax` divides it among them, at several times the cost; encodings are equal only where
    they are 0, and a ReLU lets no gradient pass there.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        top = inputs.amax(0)
        ctx.save_for_backward(inputs, top)
        return top

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        inputs, top = ctx.saved_tensors
        return torch.where(inputs == top, gradient, 0.0)


def _largest(inputs: Tensor) -> Tensor:
    top: Tensor = _Largest.apply(inputs)
    return top


def masked_max(encoded: Tensor, masks: Tensor) -> Tensor:
    """The largest of the encodings (input, batch, channel) that each output may see; 0 if none.

    Encodings are not negative, and equal only if they are 0. Masks are booleans, (1 or batch,
    input, output).

    >>> mask = torch.tensor([[[True, False], [False, False]]])
    >>> masked_max(torch.tensor([[[1.0]], [[2.0]]]), mask).flatten().tolist()
    [1.0, 0.0]
    """
    if len(masks) == 1:
        return _max_of_groups(encoded, masks[0])
    missing = ~masks
    if int(missing.sum(1).max()) <= 1 and len(encoded) > 1:
        return _max_without_one(encoded, missing)
    top = encoded.new_full((masks.shape[2], *encoded.shape[1:]), -torch.inf)
    for i, each in enumerate(encoded):
        is_seen = masks[:, i].T.unsqueeze(-1)
        top = torch.maximum(top, torch.where(is_seen, each, -torch.inf))
    return torch.where(top.isfinite(), top, 0.0)


def _max_of_groups(encoded: Tensor, mask: Tensor) -> Tensor:
    """The same mask for all of the batch: outputs with the same parents share their maximum."""
    kinds, kind_of = mask.unique(dim=1, return_inverse=True)
    pooled = [
        torch.zeros_like(encoded[0]) if seen is None else _largest(seen)
        for seen in parents_of(encoded, kinds)
    ]
    return torch.stack([pooled[kind] for kind in kind_of.tolist()])


def _max_without_one(encoded: Tensor, missing: Tensor) -> Tensor:
    """At most one input is missing: it is the largest or the second that counts."""
    top = _largest(encoded)
    is_top = encoded == top
    second = _largest(encoded.masked_fill(is_top, -torch.inf))
    # If 0 is the largest, so are all others.
    matters = is_top & (top > 0)
    is_missing, left_out = missing.max(1)  # (batch, output) each
    rows = torch.arange(len(left_out), device=encoded.device).unsqueeze(1)
    loses_top = matters[left_out, rows] & is_missing.unsqueeze(-1)
    return torch.where(loses_top.transpose(0, 1), second, top)
