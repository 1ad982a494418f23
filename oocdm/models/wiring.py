"""Structures as the fast model reads them: masks for its weights, and what can be left out."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
import torch
from torch import Tensor

from oocdm.graph import ClassEdges
from oocdm.models.features import Featuriser
from oocdm.models.network import PATHS, AbstractClassModel
from oocdm.models.world_model import Structures


class Wiring:
    """The structures of one batch; what no structure uses need not be computed."""

    def __init__(self, model: AbstractClassModel, structures: Structures) -> None:
        self.model = model
        self.structures = structures

    @cached_property
    def _on(self) -> np.ndarray:
        return self.structures.detach().cpu().numpy() > 0

    def spread(self, per_structure: Tensor, batch_size: int) -> Tensor:
        """Repeat a tensor with one row a structure so that it has one a sample (or just 1)."""
        if len(per_structure) == 1:
            return per_structure
        return per_structure.repeat_interleave(batch_size // len(per_structure), 0)

    def local(self, c: str) -> Tensor:
        """The local edges of a class: (structure, own field, target)."""
        block: Tensor = self.model.index.local_block(self.structures, c)
        return block

    def others(self, k: str, c: str) -> Tensor:
        """The global edges from one class to another: (structure, source's field, target)."""
        block: Tensor = self.model.index.global_block(self.structures, k, c)
        return block

    def reads(self, k: str, c: str) -> np.ndarray:
        """Which targets read anything of another class: (structure, target)."""
        found: np.ndarray = self.model.index.global_block(self._on, k, c).any(1)
        return found

    def has_path(self, c: str, path: str) -> np.ndarray:
        """Which targets use one of the paths: (structure, target)."""
        block = self.model.path_block(self.structures, c)[..., PATHS.index(path)]
        found: np.ndarray = block.detach().cpu().numpy() > 0
        return found

    def extremes(self, c: str) -> Tensor:
        """Which extremes edges and paths allow, 0 or 1: (structure, target, column)."""
        sources, owns = _extreme_edges(self.model.featuriser, c)
        allowed = self.structures[:, sources]
        allowed = allowed * torch.where(owns >= 0, self.structures[:, owns], 1.0)
        path = self.model.path_block(self.structures, c)[..., PATHS.index("extremes")]
        return allowed * path.unsqueeze(-1)

    def gate(self, c: str, path: str, batch_size: int) -> Tensor:
        """A path as numbers 0 and 1, to multiply with: (batch or 1, 1, target, 1)."""
        block = self.model.path_block(self.structures, c)[..., PATHS.index(path)]
        return self.spread(block, batch_size)[:, None, :, None]

    def self_edges(self, c: str) -> Tensor:
        """Which targets depend on their own value before: (structure, target)."""
        names, targets = list(self.model.schema.fields(c)), self.model.schema.targets(c)
        return self.local(c)[:, [names.index(v) for v in targets], list(range(len(targets)))]


@lru_cache(maxsize=256)
def _extreme_edges(featuriser: Featuriser, c: str) -> tuple[Tensor, Tensor]:
    """Positions of the edges that each extreme needs: (target, column) each.

    First the global edge from its source; then the local one of a difference, else -1.
    """
    schema, index = featuriser.schema, ClassEdges.of(featuriser.schema)
    positions, own = np.arange(len(index)), list(schema.fields(c))
    local = index.local_block(positions, c)
    columns = featuriser.extreme_columns[c]
    edges = np.full((2, local.shape[1], len(columns)), -1)
    for i, column in enumerate(columns):
        k, f = column.source_class, column.source_field
        row = list(schema.fields(k)).index(f)
        edges[0, :, i] = index.global_block(positions, k, c)[row]
        if column.is_difference:
            edges[1, :, i] = local[own.index(f)]
    sources, owns = torch.as_tensor(edges)
    return sources, owns
