"""GRADER: independence tests find the graph; recurrent networks then read each output's parents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import torch
from torch import Tensor, nn

from oocdm.discovery import Discovery
from oocdm.discovery.independence.variable_tests import LEAST_SAMPLES, VariableTests
from oocdm.errors import ModelError
from oocdm.graph import VariableEdges
from oocdm.methods.method import DataInquiry
from oocdm.methods.variable_method import ENCODING, AbstractVariableMethod
from oocdm.models.variable_model import (
    AbstractVariableModel,
    Encoded,
    Masks,
    Setting,
    Stack,
    TwoLayers,
    parents_of,
)
from oocdm.reading import Range, Share, Size

ENCODER_WIDTH, STATE_WIDTH = 64, 64


class GraderModel(AbstractVariableModel):
    """A recurrent network for each output goes through its parents in both directions."""

    def __init__(self, setting: Setting, encoding: int) -> None:
        super().__init__(setting)
        self.encoder = TwoLayers(self.num_inputs, self.input_width, ENCODER_WIDTH, encoding)
        self.readers = nn.ModuleList(
            nn.GRU(encoding, STATE_WIDTH, bidirectional=True) for _ in range(self.num_outputs)
        )
        self.out = Stack(self.num_outputs, 2 * STATE_WIDTH, self.output_width)

    def encode(self, variables: Tensor) -> Encoded:
        return (self.encoder(variables).relu(),)

    def predict(self, encoded: Encoded, masks: Masks) -> Tensor:
        (encodings,) = encoded
        if len(masks) == 1:
            return self._read(encodings, masks[0] > 0)
        kinds, kind_of = masks.flatten(1).unique(dim=0, return_inverse=True)
        out = encodings.new_zeros(self.num_outputs, encodings.shape[1], self.output_width)
        for number, kind in enumerate(kinds):
            rows = kind_of == number
            out[:, rows] = self._read(encodings[:, rows], kind.view(masks.shape[1:]) > 0)
        return out

    def _read(self, encoded: Tensor, mask: Tensor) -> Tensor:
        states = []
        for reader, parents in zip(self.readers, parents_of(encoded, mask), strict=True):
            if parents is None:
                states.append(encoded.new_zeros(encoded.shape[1], 2 * STATE_WIDTH))
            else:
                _, last = reader(parents)  # (direction, batch, channel)
                states.append(torch.cat([last[0], last[1]], -1))
        out: Tensor = self.out(torch.stack(states))
        return out


@dataclass(frozen=True)
class Grader(AbstractVariableMethod):
    """Tests every pair of variables with Fast CIT, then learns with the graph that this gives.

    >>> Grader().alpha
    0.1
    """

    name: ClassVar[str] = "grader"

    alpha: Share = 0.1  # edges are those with a p-value below
    # Transitions that a test sees; the time grows faster than they do.
    max_samples: Annotated[int, Range(at_least=LEAST_SAMPLES)] = 1000
    # Tests that run side by side; by default as many as threads.
    workers: Annotated[int, Range(at_least=1, at_most=1024)] | None = None
    encoding: Size | None = None  # channels of a variable; by default they grow with the objects

    @property
    def weighs_beliefs(self) -> bool:
        return True

    def with_threshold(self, threshold: float) -> Self:
        raise ModelError(
            "Method `grader` has no threshold in nats: it finds edges with a p-value below its "
            f"option `alpha`, here {self.alpha:g}. Fit with another alpha instead."
        )

    def network(self, setting: Setting) -> AbstractVariableModel:
        return GraderModel(setting, ENCODING(setting.counts, self.encoding))

    def discover_first(self, inquiry: DataInquiry) -> Discovery | None:
        """Tests of all edges; if time is limited, on as many transitions as it allows."""
        layout, free = inquiry.free.layout, inquiry.free.edges
        assert isinstance(layout.edges, VariableEdges)  # as built
        if not free.any():
            return None
        tests = VariableTests(
            inquiry.data,
            layout.edges,
            self.alpha,
            max_samples=self.max_samples,
            seed=inquiry.seed,
            workers=self.workers or torch.get_num_threads(),
        )
        if inquiry.max_seconds is not None:
            tests = tests.within(inquiry.max_seconds, free)
        evidence = tests.discover(free, inquiry.weights, inquiry.on_settled)
        is_cut = tests.max_samples < self.max_samples
        return Discovery(layout.structure(evidence.is_in), evidence, is_cut)
