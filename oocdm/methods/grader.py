"""GRADER: independence tests find the graph; recurrent networks then read each output's parents."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from oocdm.data.dataset import Dataset
from oocdm.discovery import Discovery, Settling
from oocdm.discovery.variable_tests import discover_variables_by_tests
from oocdm.errors import ModelError
from oocdm.graph import AbstractEdgeSpace, VariableEdges
from oocdm.methods.variable_method import AbstractVariableMethod, width_by_objects
from oocdm.models.variable_model import (
    AbstractVariableModel,
    Encoded,
    Masks,
    Setting,
    Stack,
    TwoLayers,
)

ENCODER_WIDTH, STATE_WIDTH = 64, 64
LEAST_SAMPLES = 20  # a tenth of them is held out by each test


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
        for reader, is_parent in zip(self.readers, mask.T, strict=True):
            if is_parent.any():
                _, last = reader(encoded[is_parent])  # (direction, batch, channel)
                states.append(torch.cat([last[0], last[1]], -1))
            else:
                states.append(encoded.new_zeros(encoded.shape[1], 2 * STATE_WIDTH))
        out: Tensor = self.out(torch.stack(states))
        return out


@dataclass(frozen=True)
class Grader(AbstractVariableMethod):
    """Tests every pair of variables with Fast CIT, then learns with the graph that this gives.

    >>> Grader().alpha
    0.1
    """

    name: ClassVar[str] = "grader"

    alpha: float = 0.1  # edges are those with a p-value below
    max_samples: int = 1000  # transitions that a test sees; the time grows faster than they do
    workers: int | None = None  # tests that run side by side; all cores by default
    encoding: int | None = None  # channels of a variable; by default they grow with the objects

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise ModelError(f"alpha: expected a number between 0 and 1, got {self.alpha!r}.")
        if self.max_samples < LEAST_SAMPLES:
            raise ModelError(
                f"max_samples: expected at least {LEAST_SAMPLES}, got {self.max_samples!r}."
            )

    def network(self, setting: Setting) -> AbstractVariableModel:
        encoding = self.encoding or width_by_objects(setting.counts, 32, 16, 64, 256)
        return GraderModel(setting, encoding)

    def discover_first(
        self,
        data: Dataset,
        edges: AbstractEdgeSpace,
        free: np.ndarray,
        seed: int,
        settling: Settling | None = None,
    ) -> Discovery | None:
        assert isinstance(edges, VariableEdges)  # as built
        if not free.any():
            return None
        workers = self.workers or os.cpu_count() or 1
        evidence = discover_variables_by_tests(
            data,
            edges,
            free,
            self.alpha,
            max_samples=self.max_samples,
            seed=seed,
            workers=workers,
            settling=settling,
        )
        return Discovery(edges.mask(evidence.graph), evidence)
