"""World models of fixed objects: every attribute of every object is a variable of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from oocdm.data.snapshot import Snapshot
from oocdm.errors import ModelError
from oocdm.graph import Layout, Neighbours, VariableEdges
from oocdm.models.features import Inputs
from oocdm.models.head import HeadOptions
from oocdm.models.initial import xavier
from oocdm.models.prediction import ClassPrediction, Predictions
from oocdm.models.scales import Scales
from oocdm.models.world_model import AbstractWorldModel, NeighboursPredictor, Structures
from oocdm.schema import Schema

# What a network makes of all variables before it knows the graph.
Encoded = tuple[Tensor, ...]

# Which inputs each output sees: (structure, input, output), 0 or 1, or between while it is learned.
Masks = Tensor


@dataclass(frozen=True)
class Setting:
    """What a network over variables is made for: objects, units, and the form of its outputs."""

    schema: Schema
    counts: Mapping[str, int]
    scales: Scales
    head: HeadOptions


class AbstractVariableModel(AbstractWorldModel):
    """A network over all variables of some objects, for these numbers of objects only.

    Implementations `encode` the variables once, and `predict` all outputs from that under masks.
    """

    counts: Mapping[str, int]
    own: Tensor  # (output,): which input is the same variable a step before

    def __init__(self, setting: Setting) -> None:
        schema = setting.schema
        edges = VariableEdges(schema, dict(setting.counts))
        super().__init__(Layout(edges), setting.scales, setting.head)
        self.variables, self.counts = edges.full, edges.counts
        self.num_inputs, self.num_outputs = edges.full.matrix.shape
        self.input_width = max(self.featuriser.width.values())
        self.output_width = max(
            self.heads[c].num_outputs for c in schema.classes if schema.targets(c)
        )
        self.register_buffer("own", self._own_inputs(), persistent=False)

    def _own_inputs(self) -> Tensor:
        names = {name: i for i, name in enumerate(self.variables.inputs)}
        return torch.tensor([names[name] for name in self.variables.outputs])

    # ---------------------------------------------------------------- what networks say

    @abstractmethod
    def encode(self, variables: Tensor) -> Encoded:
        """What is the same under all masks; `variables` are (input, batch, number)."""

    @abstractmethod
    def predict(self, encoded: Encoded, masks: Masks) -> Tensor:
        """Decoder outputs (output, batch, number); masks are for all of the batch or for each."""

    # ---------------------------------------------------------------- as a world model

    def inputs(self, before: Snapshot) -> Inputs:
        for c, expected in self.counts.items():
            present = before.present[c]
            is_expected = torch.arange(present.shape[1], device=present.device) < expected
            if present.shape[1] < expected or bool((present != is_expected).any()):
                raise ModelError(
                    f"Class `{c}`: expected {expected} objects, as in training, got "
                    f"{_describe(present)}. This model knows its objects one by one; `oocdm "
                    "methods` tells which take any numbers, such as `oocdm` and `oofull`."
                )
        return super().inputs(before)

    def forward(self, inputs: Inputs, *structures: Structures) -> tuple[Predictions, ...]:
        encoded = self.encode(self._variables(inputs))
        return tuple(self._predictions(inputs, encoded, each) for each in structures)

    def compile_neighbours(self, neighbours: Neighbours) -> NeighboursPredictor:
        self.check_layout(neighbours.structure)
        structure, columns = neighbours.structure.flags, np.stack(self.layout.by_target)
        # Outputs do not share predictors: one element can be turned for all of them at once.
        elements = sorted(set().union(*(each.tolist() for each in neighbours.elements.values())))
        rows = np.repeat(structure[None], 1 + len(elements), axis=0)
        for row, element in zip(rows[1:], elements, strict=True):
            row[columns[:, element]] ^= True
        structures = self.rows(rows).split(1)

        @torch.no_grad()
        def predict(inputs: Inputs) -> Predictions:
            found = self(inputs, *structures)
            classes = {}
            for c, chosen in neighbours.elements.items():
                here = [0, *(1 + elements.index(element) for element in chosen)]
                classes[c] = ClassPrediction.stack([found[i].classes[c] for i in here])
            return Predictions(self.schema, classes)

        return predict

    def _variables(self, inputs: Inputs) -> Tensor:
        """All variables in the order of the graph: (input, batch, number)."""
        parts = [
            functional.pad(
                features[:, : self.counts[c]], (0, self.input_width - features.shape[-1])
            ).flatten(1, 2)
            for c, features in inputs.features.items()
        ]
        return torch.cat(parts, 1).transpose(0, 1)

    def _predictions(self, inputs: Inputs, encoded: Encoded, structures: Structures) -> Predictions:
        self.check_shares(inputs, structures)
        masks = structures.unflatten(1, (self.num_inputs, self.num_outputs))
        if len(masks) > 1:
            masks = masks.repeat_interleave(inputs.batch_size // len(masks), 0)
        out = self.predict(encoded, masks).transpose(0, 1)  # (batch, output, number)
        has_self = masks[:, self.own, torch.arange(self.num_outputs)]
        classes, start = {}, 0
        for c in self.schema.classes:
            objects, targets = self.counts[c], len(self.schema.targets(c))
            here = slice(start, start + objects * targets)
            start = here.stop
            if not targets:
                continue
            shape, empty = (objects, targets), inputs.values[c].shape[1] - objects
            classes[c] = self.heads[c](
                functional.pad(out[:, here].unflatten(1, shape), (0, 0, 0, 0, 0, empty)),
                None,
                inputs.values[c],
                inputs.known[c],
                functional.pad(has_self[:, here].unflatten(1, shape), (0, 0, 0, empty)),
            )
        return Predictions(self.schema, classes)


class Stack(nn.Module):
    """Linear layers side by side, one for each variable: (variable, batch, in) to (.., out).

    >>> Stack(3, 2, 5)(torch.zeros(3, 7, 2)).shape
    torch.Size([3, 7, 5])
    """

    def __init__(self, num: int, width_in: int, width_out: int) -> None:
        super().__init__()
        self.weight = xavier(num, width_in, width_out, fan_in=width_in, fan_out=width_out)
        self.bias = nn.Parameter(torch.zeros(num, 1, width_out))

    def forward(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x, self.weight)


class TwoLayers(nn.Module):
    """Two layers for each variable or object; zeros without weights where there is nothing to read.

    >>> TwoLayers(3, 2, 8, 5)(torch.zeros(3, 7, 2)).shape
    torch.Size([3, 7, 5])
    """

    def __init__(self, num: int, width_in: int, hidden: int, width_out: int) -> None:
        super().__init__()
        self.width_out = width_out
        self.has_input = width_in > 0 and width_out > 0
        if self.has_input:
            self.first, self.second = Stack(num, width_in, hidden), Stack(num, hidden, width_out)

    def forward(self, x: Tensor) -> Tensor:
        if not self.has_input:
            return x.new_zeros(*x.shape[:-1], self.width_out)
        out: Tensor = self.second(functional.leaky_relu(self.first(x)))
        return out


def parents_of(encoded: Tensor, mask: Tensor) -> Iterator[Tensor | None]:
    """The encodings (parent, batch, channel) that each output may see; None if it sees none.

    Inputs are picked one by one: gradients of `encoded[column]` would be as large as all encodings,
    mostly zeros.

    >>> encoded = torch.ones(3, 7, 5)
    >>> mask = torch.tensor([[True, False], [True, False], [False, False]])
    >>> [None if seen is None else len(seen) for seen in parents_of(encoded, mask)]
    [2, None]
    """
    each = encoded.unbind()
    for column in mask.T.cpu().numpy():
        seen = [each[i] for i in np.flatnonzero(column)]
        if len(seen) == len(each):
            yield encoded
        else:
            yield torch.stack(seen) if seen else None


def _describe(present: Tensor) -> str:
    counts = present.sum(1)
    low, high = int(counts.min()), int(counts.max())
    return f"{low} to {high}" if low < high else str(low)
