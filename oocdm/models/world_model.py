"""What every world model can do, whatever its network: the interface that other rooms know.

A model reads a snapshot and predicts every target field of every object, under a graph. Scales of
inputs and outputs, and how decoder outputs become distributions, are the same for all.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.errors import ModelError
from oocdm.graph import AbstractEdgeSpace, ClassGraph, Graph
from oocdm.models.features import Featuriser, Inputs, Targets
from oocdm.models.named import BuffersByName, ModulesByName
from oocdm.models.oocdm.options import HeadOptions
from oocdm.models.parameters import HeadScales
from oocdm.models.prediction import ClassPrediction, FieldPredictions, Predictions
from oocdm.models.scales import Scales
from oocdm.schema import Schema

# Turns inputs into predictions under structures that are fixed.
Predictor = Callable[[Inputs], Predictions]

# The same from what the inputs are made of.
SnapshotPredictor = Callable[[Snapshot], Predictions]

# The same for states of which everything is known, one target at a time.
SlimPredictor = Callable[[Snapshot], FieldPredictions]

# Structures are given to a network as a matrix of 0 and 1: one column for each edge in EdgeIndex
# order, then one for each target and path. The rows of a batch are divided among them evenly.
Structures = Tensor


def _follow_weights(model: AbstractWorldModel, _: object) -> None:
    """Give the featuriser the scales that were just loaded."""
    fields = {
        (c, f): replace(scale, value_mean=saved[0], value_sd=saved[1])
        for (c, f), scale in model.featuriser.scales.fields.items()
        for saved in [model.input_scales[c][f]]
    }
    extremes = {c: model.extreme_scales[c] for c in model.schema.classes}
    model.featuriser.scales = Scales(fields, extremes)


class AbstractWorldModel(nn.Module):
    """A world model: distributions of every next attribute from the parents a graph allows.

    Implementations say which edges they know, `edges`, and how `decode` turns inputs and
    structures into predictions.
    """

    paths: Tensor
    counts: Mapping[str, int] | None = None  # numbers of objects, if these are fixed

    def __init__(
        self, edges: AbstractEdgeSpace, featuriser: Featuriser, head_options: HeadOptions
    ) -> None:
        super().__init__()
        self.schema = edges.schema
        self.edges = edges
        self.featuriser = featuriser
        self.head_options = head_options
        self._init_scales(featuriser.scales)

    def _init_scales(self, scales: Scales) -> None:
        self.heads = ModulesByName(
            {
                c: HeadScales(self.schema, c, scales, self.featuriser.components[c])
                for c in self.schema.classes
            }
        )
        # The featuriser keeps plain tensors; these buffers save them with the weights.
        self.input_scales = ModulesByName(
            {
                c: BuffersByName(
                    {
                        f: torch.stack(
                            [scales.fields[c, f].value_mean, scales.fields[c, f].value_sd]
                        )
                        for f in self.schema.fields(c)
                    }
                )
                for c in self.schema.classes
            }
        )
        self.extreme_scales = BuffersByName(
            {c: self._extreme_scale(c, scales) for c in self.schema.classes}
        )
        self.register_load_state_dict_post_hook(_follow_weights)

    def _extreme_scale(self, c: str, scales: Scales) -> Tensor:
        columns = len(self.featuriser.extreme_columns[c])
        unit = torch.stack([torch.zeros(columns), torch.ones(columns)])
        return scales.extremes.get(c, unit).clone() if columns else unit

    def num_decoded(self, c: str) -> int:
        """How many numbers a decoder must give for a target of a class."""
        widths = [2 * self.featuriser.components[c]]
        for v in self.schema.targets(c):
            field = self.schema.field(c, v)
            if field.likelihood == "categorical":
                widths.append(field.size * (field.num_values or 0))
        return max(widths)

    def head_scales(self, c: str) -> HeadScales:
        """Units, bounds and floors of one class's targets."""
        return self.heads[c]

    # ---------------------------------------------------------------- using

    def resolution(self, fraction: float) -> dict[str, Tensor]:
        """A blur for scores, (target, component) a class: a fraction of the spread of the change.

        Where a field never changes, of the spread of its value.
        """
        blur = {}
        for c in self.schema.classes:
            scales = self.head_scales(c)
            spread = torch.where(scales.change_sd > 0, scales.change_sd, scales.value_sd)
            blur[c] = fraction * spread
        return blur

    @property
    def dtype(self) -> torch.dtype:
        """The floating-point type of the weights."""
        return next(self.parameters()).dtype

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def copy(self) -> Self:
        """A model of its own with the same weights."""
        return copy.deepcopy(self)

    def inputs(self, before: Snapshot) -> Inputs:
        """What the network reads of a snapshot."""
        self.check_schema(before.schema)
        return self.featuriser.inputs(before, self.dtype)

    def targets(self, transitions: Transitions) -> Targets:
        """What the network predicts of a batch of transitions."""
        self.check_schema(transitions.schema)
        return self.featuriser.targets(transitions, self.dtype)

    def structures(self, *graphs: Graph) -> Structures:
        """Graphs, with the paths that the model has chosen, as a matrix that `decode` takes."""
        rows = np.stack([self.edges.mask(graph) for graph in graphs])
        edges = torch.as_tensor(rows, dtype=self.dtype, device=self.device)
        return torch.cat([edges, self.paths.to(edges).expand(len(graphs), -1)], dim=1)

    def forward(self, before: Snapshot, graph: Graph) -> Predictions:
        """Distributions of all target fields under one graph, of classes or of variables."""

        def decode(structures: Structures) -> Predictor:
            return lambda inputs: self.decode(inputs, structures)

        return self._with_graph(graph, decode)(before)

    def with_graph(self, graph: Graph) -> SnapshotPredictor:
        """`forward` under a graph: made once, to be used often while the weights stay."""
        return self._with_graph(graph, self.under)

    def _with_graph(
        self, graph: Graph, make: Callable[[Structures], Predictor]
    ) -> SnapshotPredictor:
        predict = make(self.structures(graph))
        return lambda before: predict(self.inputs(before))

    @abstractmethod
    def decode(self, inputs: Inputs, structures: Structures) -> Predictions:
        """Predictions; the batch is divided evenly, in order, among the structures."""

    def decode_each(self, inputs: Inputs, structures: list[Structures]) -> list[Predictions]:
        """Predictions of the same batch under several sets of structures."""
        return [self.decode(inputs, each) for each in structures]

    def under(self, structures: Structures) -> Predictor:
        """`decode` under structures: made once, to be used often while the weights stay."""
        return lambda inputs: self.decode(inputs, structures)

    def slim(self, graph: ClassGraph) -> SlimPredictor | None:
        """`with_graph` for states of which everything is known, with no work beyond the targets
        that are asked for; None if there is no such way.
        """
        return None

    @staticmethod
    def _check_shares(inputs: Inputs, structures: Structures) -> None:
        if len(structures) == 0 or inputs.batch_size % len(structures):
            raise ModelError(
                "decode: the batch is divided evenly among the structures; expected a batch size "
                f"that is a multiple of {len(structures)}, got {inputs.batch_size}."
            )

    def check_schema(self, schema: Schema) -> None:
        """Raise a `ModelError` if states of another schema are given."""
        if schema is not self.schema and schema != self.schema:
            raise ModelError(
                "The model was made for another schema. "
                f"It differs in {self.schema.difference(schema)}."
            )

    # ---------------------------------------------------------------- the head

    def head(
        self, c: str, out: Tensor, linear: Tensor | None, inputs: Inputs, has_self: Tensor
    ) -> ClassPrediction:
        """Distributions from decoder outputs.

        `out` and `linear` are (batch, object, target, output), `has_self` (batch or 1, object or
        1, target): is V -> V' an edge? Of the inputs only the current values of the class are used.
        """
        o, scales = self.head_options, self.head_scales(c)
        own = inputs.values[c]
        width = own.shape[-1]
        mean, raw_sigma = out[..., :width], out[..., width : 2 * width]
        if o.predict_change:
            # There is no change of what is not known: then the value itself is predicted.
            # An edge that is still being learned may be there in part; lerp is exact at both ends.
            share = (has_self * inputs.known[c]).unsqueeze(-1)
            unit = torch.lerp(scales.value_sd, scales.change_sd, share)
            centre = torch.lerp(scales.value_mean, own + scales.change_mean, share)
        else:
            unit, centre = scales.value_sd, scales.value_mean
        mean = centre + unit * mean
        if linear is not None:
            # Inputs are in units of the value: a weight of order 1 must be able to move the mean
            # by much more than the spread of the change, yet not drown a change that is tiny.
            mean = mean + (unit * scales.value_sd).sqrt() * linear[..., :width]
        mean = self._bound(mean, scales)
        sigma = unit * functional.softplus(raw_sigma) + o.sigma_floor
        sigma = (sigma.square() + scales.sigma_floor.square()).sqrt()
        logits = {}
        for i, v in enumerate(self.schema.targets(c)):
            field = self.schema.field(c, v)
            if field.likelihood == "categorical":
                n = field.size * (field.num_values or 0)
                chosen = out[:, :, i, :n]
                if linear is not None:
                    chosen = chosen + linear[:, :, i, :n]
                logits[v] = chosen.unflatten(-1, (field.size, -1))
        return ClassPrediction(mean, sigma, logits)

    def _bound(self, mean: Tensor, scales: HeadScales) -> Tensor:
        low, high = scales.low, scales.high
        if self.head_options.clamp_means:
            cut: Tensor = _Cut.apply(mean, low, high)
            return cut
        has_low, has_high = low.isfinite(), high.isfinite()
        # Infinite bounds are replaced before use: their branch is not taken, its gradient is.
        a, b = torch.where(has_low, low, 0.0), torch.where(has_high, high, 0.0)
        middle, half = (a + b) / 2, (b - a) / 2
        both = middle + half * torch.tanh(mean)
        one = torch.where(has_low, a + functional.softplus(mean), b - functional.softplus(-mean))
        bounded = torch.where(has_low & has_high, both, one)
        return torch.where(has_low | has_high, bounded, mean)


class _Cut(torch.autograd.Function):
    """Means cut off at bounds; beyond them gradients still pass that lead back.

    Without those a field whose means have all left its bounds would never be learned again.
    """

    @staticmethod
    def forward(ctx: Any, mean: Tensor, low: Tensor, high: Tensor) -> Tensor:
        ctx.save_for_backward(mean, low, high)
        return torch.maximum(torch.minimum(mean, high), low)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        mean, low, high = ctx.saved_tensors
        leads_out = ((mean > high) & (gradient < 0)) | ((mean < low) & (gradient > 0))
        return gradient.masked_fill(leads_out, 0.0), None, None
