"""What every world model can do, whatever its network: the interface that other rooms know.

A model reads a snapshot and predicts every target field of every object, under a graph. There are
two ways in: a call, with gradients, and `compile`, for weights that stay as they are.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.errors import ModelError
from oocdm.graph import AbstractEdgeSpace, Graph, Layout, Neighbours, Structure
from oocdm.models.features import Featuriser, Inputs, Targets
from oocdm.models.head import Head, HeadOptions
from oocdm.models.named import ModulesByName
from oocdm.models.prediction import FieldPredictions, Predictions
from oocdm.models.scales import Scale, Scales
from oocdm.schema import Schema

# Structures as a network reads them: a row each, 0 or 1 for every part in the order of the layout.
# The rows of a batch are divided among them evenly. What is learned may lie between 0 and 1.
Structures = Tensor

# Predictions of the same batch under a structure and its neighbours, see `compile_neighbours`.
NeighboursPredictor = Callable[[Inputs], Predictions]


class AbstractPredictor(ABC):
    """A model under one graph: made once, to be used often while the weights stay."""

    @abstractmethod
    def __call__(self, before: Snapshot) -> Predictions:
        """Distributions of all target fields."""

    def each(self, before: Snapshot) -> FieldPredictions:
        """The same, where it pays with no work beyond the targets that are asked for."""
        return self(before)


class AbstractWorldModel(nn.Module):
    """A world model: distributions of every next attribute from the parents a graph allows.

    Implementations say which elements their structures have, `layout`, and how a call turns inputs
    and structures into predictions.
    """

    paths: Tensor  # 0 or 1 for every path: which the model has chosen
    counts: Mapping[str, int] | None = None  # numbers of objects, if these are fixed
    takes_receivers: bool = False  # whether calls predict no more than `Inputs.receivers` ask for

    def __init__(
        self,
        layout: Layout,
        scales: Scales,
        head_options: HeadOptions,
        one_hot: bool = False,
        flag_unknown: bool = False,
    ) -> None:
        super().__init__()
        self.layout = layout
        self.schema = schema = layout.edges.schema
        self.heads = ModulesByName(
            {c: Head(schema, c, scales, head_options) for c in schema.classes}
        )
        of_classes = {c: self.heads[c].scales for c in schema.classes}
        self.featuriser = Featuriser(schema, of_classes, one_hot, flag_unknown)
        self.register_buffer("paths", torch.ones(len(layout) - layout.num_edges))

    @property
    def edges(self) -> AbstractEdgeSpace:
        """All edges that the model's graphs may have."""
        return self.layout.edges

    # ---------------------------------------------------------------- units

    def measure(self, data: Transitions) -> None:
        """Take units of what the model reads beside fields from data."""

    def scale(self, c: str, f: str) -> Scale:
        """Location and spread of a field in the training data; 0 and 1 if they are not known."""
        return self.heads[c].scales.of(f)

    @property
    def knows_scales(self) -> bool:
        """Whether it knows where its data lay."""
        return not all(self.heads[c].scales.is_unit for c in self.schema.classes)

    def resolution(self, fraction: float) -> dict[str, Tensor]:
        """A blur for scores, (target, component) a class: a fraction of the usual change."""
        return {c: fraction * self.heads[c].usual_change() for c in self.schema.classes}

    # ---------------------------------------------------------------- using

    @property
    def dtype(self) -> torch.dtype:
        """The floating-point type of the weights."""
        return next(self.parameters()).dtype

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def parameter_groups(self) -> list[dict[str, Any]]:
        """The parameters, in groups that an optimiser of torch takes: here all in one.

        A group may have a `boost`, by which `EigenAdam` multiplies its learning rate, and say how
        it sees the parameters as `matrices` (see oocdm.training.optimiser.to_matrices).
        """
        return [{"params": list(self.parameters())}]

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

    def structure(self, graph: Graph) -> Structure:
        """A graph with the paths that the model has chosen."""
        return self.layout.structure(self.edges.mask(graph), self.paths.cpu().numpy() > 0)

    def structures(self, *graphs: Graph | Structure) -> Structures:
        """Graphs, with the paths that the model has chosen, or structures, as a call takes them."""
        each = [g if isinstance(g, Structure) else self.structure(g) for g in graphs]
        for structure in each:
            self.check_layout(structure)
        return self.rows(np.stack([structure.flags for structure in each]))

    def check_layout(self, structure: Structure) -> None:
        """Raise a `ModelError` unless the elements of a structure are those of this model."""
        if structure.layout != self.layout:
            raise ModelError(
                f"Structure: expected one of this model's {self.layout!r}, got one of another, "
                f"{structure.layout!r}. Make it with `model.layout`."
            )

    def largest(self) -> Structure:
        """The structure of all that it can be asked about for now."""
        return self.layout.structure(True)

    def rows(self, flags: np.ndarray | Tensor) -> Structures:
        """Structures as a matrix of flags, as a call takes them."""
        given = flags if isinstance(flags, Tensor) else torch.tensor(flags)
        return given.to(self.device, self.dtype)

    @abstractmethod
    def forward(self, inputs: Inputs, *structures: Structures) -> tuple[Predictions, ...]:
        """Predictions under each of several sets of structures, with gradients.

        The batch is divided evenly, in order, among the rows of a set.
        """

    def compile_for(self, graph: Graph | Structure) -> AbstractPredictor:
        """The model under one graph, without gradients."""
        return GraphPredictor(self, graph)

    def compile_neighbours(self, neighbours: Neighbours) -> NeighboursPredictor:
        """The model under a structure and its neighbours, without gradients.

        For each class of theirs the batch is repeated: under the structure itself, then under
        each neighbour.
        """

        @torch.no_grad()
        def predict(inputs: Inputs) -> Predictions:
            classes = {}
            for c in neighbours.elements:
                rows = self.rows(neighbours.of(c))
                (found,) = self(inputs.repeat(len(rows)), rows)
                classes[c] = found.classes[c]
            return Predictions(self.schema, classes)

        return predict

    def check_shares(self, inputs: Inputs, structures: Structures) -> None:
        """Raise a `ModelError` unless a batch can be divided among structures."""
        if len(structures) == 0 or inputs.batch_size % len(structures):
            raise ModelError(
                "The batch is divided evenly among the structures: expected a batch size that is "
                f"a multiple of {len(structures)}, got {inputs.batch_size}."
            )

    def check_schema(self, schema: Schema) -> None:
        """Raise a `ModelError` if states of another schema are given."""
        if schema is not self.schema and schema != self.schema:
            raise ModelError(
                "The model was made for another schema. "
                f"It differs in {self.schema.difference(schema)}."
            )


class GraphPredictor(AbstractPredictor):
    """A model's own call under one graph."""

    def __init__(self, model: AbstractWorldModel, graph: Graph | Structure) -> None:
        self._model, self._structures = model, model.structures(graph)

    @torch.no_grad()
    def __call__(self, before: Snapshot) -> Predictions:
        (found,) = self._model(self._model.inputs(before), self._structures)
        return found
