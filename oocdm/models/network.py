"""The parameters of an OOCDM and what the fast and the reference implementation share.

Parameters are stacked by class: one tensor for the same layer of all target fields of a
class. Both implementations hold the same parameters under the same names, so weights move
between them as they are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.errors import ModelError
from oocdm.graph import ClassGraph, EdgeIndex, VariableGraph
from oocdm.models.features import Featuriser, Inputs, Targets
from oocdm.models.named import BuffersByName, ModulesByName
from oocdm.models.options import ModelOptions
from oocdm.models.parameters import EncoderParameters, HeadScales, PredictorParameters
from oocdm.models.prediction import ClassPrediction, FieldPredictions, Predictions
from oocdm.models.scales import Scales
from oocdm.models.variables import HidingPlan
from oocdm.schema import Schema

# The parts of a predictor beside its linear core, each of which a target may do without.
PATHS = ("decoder", "sum", "extremes")

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

    Implementations say how `decode` turns inputs and graphs into predictions.
    """

    def __init__(self, schema: Schema, options: ModelOptions, scales: Scales | None) -> None:
        super().__init__()
        self.schema = schema
        self.options = options
        self.index = EdgeIndex.of(schema)
        scales = scales if scales is not None and options.normalise else Scales.unit(schema)
        self.featuriser = Featuriser(schema, scales, options.enrich, options.flag_unknown)
        self._init_scales(scales)
        self._init_parameters()
        self.num_targets = sum(len(schema.targets(c)) for c in schema.classes)
        self.register_buffer("paths", torch.ones(self.num_targets * len(PATHS)))

    paths: Tensor

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

    def _init_parameters(self) -> None:
        o, schema, featuriser = self.options, self.schema, self.featuriser
        widths = {
            c: [featuriser.field_width(c, f) for f in schema.fields(c)] for c in schema.classes
        }
        self.encoders = ModulesByName(
            {
                c: EncoderParameters(widths[c], featuriser.width[c], o.encoding_dim)
                for c in schema.classes
            }
        )
        # One encoded attribute: learned channels, then the raw value (padded within its class).
        self.encoded_dim = {
            c: o.encoding_dim + (featuriser.raw_width[c] if o.enrich else 0) for c in schema.classes
        }
        source_widths = {c: len(schema.fields(c)) * self.encoded_dim[c] for c in schema.classes}
        predictors = {}
        for c in schema.classes:
            if schema.targets(c):
                predictors[c] = PredictorParameters(
                    o,
                    len(schema.targets(c)),
                    source_widths[c],
                    source_widths,
                    {k: len(featuriser.equal_fields[k, c]) for k in schema.classes},
                    len(featuriser.extreme_columns[c]),
                    len(schema.fields(c))
                    + sum(len(schema.fields(k)) for k in schema.classes)
                    + len(PATHS),
                    self._num_outputs(c),
                )
        self.predictors = ModulesByName(predictors)

    def _num_outputs(self, c: str) -> int:
        widths = [2 * self.featuriser.components[c]]
        for v in self.schema.targets(c):
            field = self.schema.field(c, v)
            if field.likelihood == "categorical":
                widths.append(field.size * (field.num_values or 0))
        return max(widths)

    # ---------------------------------------------------------------- parts, with their types

    def encoder(self, c: str) -> EncoderParameters:
        """The attribute encoders of one class."""
        return self.encoders[c]

    def predictor(self, c: str) -> PredictorParameters:
        """The predictors of one class's targets."""
        return self.predictors[c]

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
        with torch.random.fork_rng(devices=[]):  # new weights are drawn and thrown away
            twin = type(self)(self.schema, self.options, self.featuriser.scales)
        twin.to(self.device, self.dtype).load_state_dict(self.state_dict())
        return twin

    def inputs(self, before: Snapshot) -> Inputs:
        """What the network reads of a snapshot."""
        self._check_schema(before.schema)
        return self.featuriser.inputs(before, self.dtype)

    def targets(self, transitions: Transitions) -> Targets:
        """What the network predicts of a batch of transitions."""
        self._check_schema(transitions.schema)
        return self.featuriser.targets(transitions, self.dtype)

    def structures(self, *graphs: ClassGraph) -> Structures:
        """Graphs, with the paths that the model has chosen, as a matrix that `decode` takes."""
        for graph in graphs:
            self._check_schema(graph.schema)
        edges = torch.as_tensor(
            np.stack([g.mask for g in graphs]), dtype=self.dtype, device=self.device
        )
        return torch.cat([edges, self.paths.to(edges).expand(len(graphs), -1)], dim=1)

    def path_block(self, structures: Structures, c: str) -> Tensor:
        """The paths of one class's targets: (structure, target, path)."""
        before = 0
        for name in self.schema.classes:
            if name == c:
                break
            before += len(self.schema.targets(name))
        start = len(self.index) + before * len(PATHS)
        stop = start + len(self.schema.targets(c)) * len(PATHS)
        return structures[:, start:stop].unflatten(1, (-1, len(PATHS)))

    def parts(self, structures: Structures, c: str) -> Tensor:
        """All that may enter the predictors of a class, 0 or 1: (structure, target, part)."""
        blocks = [self.index.local_block(structures, c)]
        blocks += [self.index.global_block(structures, k, c) for k in self.schema.classes]
        edges = torch.cat(blocks, dim=1).transpose(1, 2)
        return torch.cat([edges, self.path_block(structures, c)], dim=2)

    def part_columns(self, c: str) -> np.ndarray:
        """Where a structure holds what `parts` gives: (target, part)."""
        width = len(self.index) + len(self.paths)
        columns: np.ndarray = self.parts(torch.arange(width)[None], c)[0].numpy()
        return columns

    def forward(self, before: Snapshot, graph: ClassGraph | VariableGraph) -> Predictions:
        """Distributions of all target fields under one graph, of classes or of variables."""

        def decode(structures: Structures) -> Predictor:
            return lambda inputs: self.decode(inputs, structures)

        return self._with_graph(graph, decode)(before)

    def with_graph(self, graph: ClassGraph | VariableGraph) -> SnapshotPredictor:
        """`forward` under a graph and weights as they are now: made once, to be used often."""
        return self._with_graph(graph, self.under)

    def _with_graph(
        self, graph: ClassGraph | VariableGraph, make: Callable[[Structures], Predictor]
    ) -> SnapshotPredictor:
        if isinstance(graph, ClassGraph):
            predict = make(self.structures(graph))
            return lambda before: predict(self.inputs(before))
        plan = HidingPlan.of(self.schema, graph)
        predict = make(self.structures(plan.graph))
        return lambda before: plan.predict(before, lambda seen: predict(self.inputs(seen)))

    @abstractmethod
    def decode(self, inputs: Inputs, structures: Structures) -> Predictions:
        """Predictions; the batch is divided evenly, in order, among the structures."""

    def decode_each(self, inputs: Inputs, structures: list[Structures]) -> list[Predictions]:
        """Predictions of the same batch under several sets of structures."""
        return [self.decode(inputs, each) for each in structures]

    def under(self, structures: Structures) -> Predictor:
        """`decode` under structures and weights as they are now: made once, to be used often."""
        return lambda inputs: self.decode(inputs, structures)

    def slim(self, graph: ClassGraph) -> SlimPredictor | None:
        """`with_graph` for states of which everything is known, with no work beyond the targets
        that are asked for; None if there is no such way.
        """
        return None

    def neighbours(self, c: str, structure: np.ndarray, parts: np.ndarray) -> Structures:
        """A structure, then those in which one of these parts of every target of c is turned.

        Parts are numbered as in `parts`: own fields, fields of others, paths.
        """
        columns = torch.as_tensor(self.part_columns(c))
        rows = torch.as_tensor(structure).repeat(1 + len(parts), 1)
        for i, part in enumerate(parts):
            rows[i + 1, columns[:, part]] ^= True
        return rows.to(self.device, self.dtype)

    def around(self, structure: np.ndarray, parts: Mapping[str, np.ndarray]) -> Predictor:
        """Predictions under a structure and its neighbours, with the weights as they are now.

        For each class in `parts` the batch is repeated: under the structure itself, then with
        each of the given parts the other way round (see `neighbours`).
        """

        def predict(inputs: Inputs) -> Predictions:
            classes = {}
            for c, chosen in parts.items():
                rows = self.neighbours(c, structure, chosen)
                repeated = inputs.repeat(len(rows))
                classes[c] = self.decode(repeated, rows).classes[c]
            return Predictions(self.schema, classes)

        return predict

    @staticmethod
    def _check_shares(inputs: Inputs, structures: Structures) -> None:
        if len(structures) == 0 or inputs.batch_size % len(structures):
            raise ModelError(
                "decode: the batch is divided evenly among the structures; expected a batch size "
                f"that is a multiple of {len(structures)}, got {inputs.batch_size}."
            )

    def _check_schema(self, schema: Schema) -> None:
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

        `out` and `linear` are (batch, object, target, output), `has_self` (batch or 1, target):
        is V -> V' an edge? Of the inputs only the current values of the class are used.
        """
        o, scales = self.options, self.head_scales(c)
        own = inputs.values[c]
        width = own.shape[-1]
        mean, raw_sigma = out[..., :width], out[..., width : 2 * width]
        if o.predict_change:
            # There is no change of what is not known: then the value itself is predicted.
            is_change = ((has_self[:, None] > 0) & inputs.known[c]).unsqueeze(-1)
            unit = torch.where(is_change, scales.change_sd, scales.value_sd)
            centre = torch.where(is_change, own + scales.change_mean, scales.value_mean)
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
        if self.options.clamp_means:
            return torch.maximum(torch.minimum(mean, high), low)
        has_low, has_high = low.isfinite(), high.isfinite()
        # Infinite bounds are replaced before use: their branch is not taken, its gradient is.
        a, b = torch.where(has_low, low, 0.0), torch.where(has_high, high, 0.0)
        middle, half = (a + b) / 2, (b - a) / 2
        both = middle + half * torch.tanh(mean)
        one = torch.where(has_low, a + functional.softplus(mean), b - functional.softplus(-mean))
        bounded = torch.where(has_low & has_high, both, one)
        return torch.where(has_low | has_high, bounded, mean)
