"""The parameters of an OOCDM and what the fast and the reference implementation share.

Parameters are stacked by class: one tensor for the same layer of all target fields of a
class. Both implementations hold the same parameters under the same names, so weights move
between them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from oocdm.graph import ClassEdges, ClassGraph, EdgeIndex, Graph
from oocdm.models.features import Featuriser, Inputs
from oocdm.models.hiding import HidingPlan
from oocdm.models.named import ModulesByName
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.parameters import EncoderParameters, PredictorParameters
from oocdm.models.prediction import Predictions
from oocdm.models.scales import Scales
from oocdm.models.world_model import AbstractWorldModel, Predictor, SnapshotPredictor, Structures
from oocdm.schema import Schema

# The parts of a predictor beside its linear core, each of which a target may do without.
PATHS = ("decoder", "sum", "extremes")

# Layers of the predictors that read the same inputs for all targets of a class.
SHARED_INPUT_LAYERS = ("local_weight", "message_own", "message_weight", "global_weight")
LINEAR_BOOST = 3.0  # the linear maps must travel far, and are the best-behaved part


class AbstractClassModel(AbstractWorldModel):
    """An OOCDM: objects of a class share their networks, so any numbers of objects will do."""

    def __init__(self, schema: Schema, options: ModelOptions, scales: Scales | None) -> None:
        scales = scales if scales is not None and options.normalise else Scales.unit(schema)
        featuriser = Featuriser(schema, scales, options.enrich, options.flag_unknown)
        super().__init__(ClassEdges(schema), featuriser, options.head)
        self.options = options
        self.index = EdgeIndex.of(schema)
        self._init_parameters()
        self.num_targets = sum(len(schema.targets(c)) for c in schema.classes)
        self.register_buffer("paths", torch.ones(self.num_targets * len(PATHS)))

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
                    self.num_decoded(c),
                )
        self.predictors = ModulesByName(predictors)

    # ---------------------------------------------------------------- parts, with their types

    def encoder(self, c: str) -> EncoderParameters:
        """The attribute encoders of one class."""
        return self.encoders[c]

    def predictor(self, c: str) -> PredictorParameters:
        """The predictors of one class's targets."""
        return self.predictors[c]

    def parameter_groups(self) -> list[dict[str, Any]]:
        layers = [
            (name.split(".")[0], parameter)
            for c in self.predictors
            for name, parameter in self.predictor(c).named_parameters()
        ]
        shared = [p for layer, p in layers if layer in SHARED_INPUT_LAYERS]
        maps = [p for layer, p in layers if layer == "linear_weight"]
        taken = {id(p) for p in shared + maps}
        return [
            {"params": [p for p in self.parameters() if id(p) not in taken]},
            {"params": shared, "matrices": "shared_input"},
            {"params": maps, "matrices": "maps", "boost": LINEAR_BOOST},
        ]

    # ---------------------------------------------------------------- structures

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

    def _with_graph(
        self, graph: Graph, make: Callable[[Structures], Predictor]
    ) -> SnapshotPredictor:
        if isinstance(graph, ClassGraph):
            return super()._with_graph(graph, make)
        plan = HidingPlan.of(self.schema, graph)
        predict = super()._with_graph(plan.graph, make)
        return lambda before: plan.predict(before, predict)

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
        """Predictions under a structure and its neighbours, to be used while the weights stay.

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
