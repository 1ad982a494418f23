"""Structures as the fast model reads them: masks for its weights, and what can be left out."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from torch import Tensor

from oocdm.models.network import PATHS, AbstractWorldModel, Structures


class Wiring:
    """The structures of one batch; what no structure uses need not be computed."""

    def __init__(self, model: AbstractWorldModel, structures: Structures, batch_size: int) -> None:
        self.model = model
        self.structures = structures
        self.batch_size = batch_size

    @cached_property
    def _on(self) -> np.ndarray:
        return self.structures.detach().cpu().numpy() > 0

    @property
    def is_single(self) -> bool:
        """Whether all samples share one structure."""
        return len(self.structures) == 1

    def spread(self, per_structure: Tensor) -> Tensor:
        """Repeat a tensor with one row a structure so that it has one a sample (or just 1)."""
        if self.is_single:
            return per_structure
        return per_structure.repeat_interleave(self.batch_size // len(per_structure), 0)

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

    def gate(self, c: str, path: str) -> Tensor:
        """A path as numbers 0 and 1, to multiply with: (batch or 1, 1, target, 1)."""
        block = self.model.path_block(self.structures, c)[..., PATHS.index(path)]
        return self.spread(block)[:, None, :, None]
