"""A dataset as a model reads it: inputs and targets made once, then only indexed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.data.snapshot import Transitions
from oocdm.models.features import Inputs, Targets
from oocdm.models.world_model import AbstractWorldModel


@dataclass(frozen=True)
class Prepared:
    """Inputs and targets of many transitions, and the cluster that each comes from."""

    inputs: Inputs
    targets: Targets
    cluster: Tensor  # (transition,): those of one are not independent

    @staticmethod
    def of(
        model: AbstractWorldModel, data: Dataset, rows: np.ndarray | slice | None = None
    ) -> Prepared:
        """Prepare a dataset, or some of its transitions, for a model."""
        cluster = data.clusters if rows is None else data.clusters[rows]
        return Prepared.read(model, data.transitions(rows), cluster)

    @staticmethod
    def read(model: AbstractWorldModel, transitions: Transitions, clusters: np.ndarray) -> Prepared:
        """Prepare transitions, and the cluster of each."""
        moved = transitions.to(model.device)
        return Prepared(model.inputs(moved.before), model.targets(moved), torch.as_tensor(clusters))

    def __len__(self) -> int:
        return self.inputs.batch_size

    def rows(self, rows: Tensor | slice) -> Prepared:
        """Some of the transitions."""

        def pick(tensor: Tensor) -> Tensor:
            return tensor[rows]

        return Prepared(self.inputs.map(pick), self.targets.map(pick), pick(self.cluster))

    def chunks(self, size: int) -> list[Prepared]:
        """The transitions in order, at most `size` at a time."""
        return [self.rows(slice(i, i + size)) for i in range(0, len(self), size)]


def mean_scores(scores: dict[str, Tensor], targets: Targets) -> Tensor:
    """Mean log-likelihood of each target over its known values, all classes in order: (target,)."""
    means = [scores[c].sum((0, 1)) / targets.known[c].sum((0, 1)).clamp(min=1) for c in scores]
    return torch.cat(means)
