"""What a method is: a network, an objective and a rule of discovery."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from oocdm.discovery import Discovery, Settling, StructureParts
from oocdm.models.network import AbstractWorldModel
from oocdm.models.prepared import Prepared
from oocdm.models.scales import Scales
from oocdm.schema import Schema


@dataclass(frozen=True)
class Term:
    """One term of an objective: a weight, and the structures that the batch is divided among."""

    weight: float
    structures: np.ndarray


@dataclass(frozen=True)
class Schedule:
    """How a method is trained: `iterations` of `steps_per_iteration`, then `polish_steps`.

    Training ends early when the graph has not changed for `patience` iterations. Polishing fits
    the discovered structure alone. Scores are blurred by `resolution`, a fraction of the spread
    of each field's change, which polishing lowers to `final_resolution`; 0 means no blur.
    """

    iterations: int = 10
    steps_per_iteration: int = 400
    polish_steps: int = 3000
    patience: int = 3
    batch_size: int = 512
    polish_batch_size: int = 256
    optimiser: str = "eigen-adam"
    learning_rate: float = 2e-3
    final_learning_rate: float = 2e-4
    max_gradient_norm: float = 5.0
    resolution: float = 0.1
    final_resolution: float = 0.003
    held_out: float = 0.2


@dataclass(frozen=True)
class Standing:
    """Where learning stands when a batch is drawn."""

    estimate: np.ndarray  # the structure that discovery found last
    free: np.ndarray  # parts that discovery may change
    contested: np.ndarray  # parts whose place in the estimate is not clear yet
    parts: StructureParts
    iteration: int


class AbstractMethod(ABC):
    """A method that `fit` can train."""

    name: ClassVar[str]
    schedule: Schedule
    hide_variables: float = 0.0  # probability that a single variable is hidden while training

    @abstractmethod
    def build(self, schema: Schema, scales: Scales) -> AbstractWorldModel:
        """A new model with random weights."""

    @abstractmethod
    def start(
        self, schema: Schema, known: np.ndarray | None, testable: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The structure that training starts from, and which parts of it discovery may change.

        `known` are the edges that a user gave, if any; `testable` those that can occur.
        """

    @abstractmethod
    def objective(self, now: Standing, rng: np.random.Generator) -> list[Term]:
        """What one batch is scored under; rows of structures divide the batch evenly."""

    @abstractmethod
    def discover(
        self,
        model: AbstractWorldModel,
        data: Prepared,
        estimate: np.ndarray,
        free: np.ndarray,
        weights: np.ndarray | None = None,
        settling: Settling | None = None,
    ) -> Discovery | None:
        """A new structure from the trained model, or None if the method does not discover.

        `weights` say how readily each edge is believed beforehand, 1 on average; `settling` is
        told how many edges are settled.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """All options of the method, JSON-ready."""
