"""Structures as networks read them: masks for weights, and what can be left out."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from oocdm.graph import ClassEdges, Layout


class Masks:
    """The structures of one batch, 0 to 1 for each element; what none uses need not be computed.

    The batch is divided evenly, in order, among them.
    """

    def __init__(self, layout: Layout, structures: Tensor) -> None:
        assert isinstance(layout.edges, ClassEdges)
        self.layout, self.edges, self.structures = layout, layout.edges, structures
        self.schema = layout.edges.schema

    def __len__(self) -> int:
        return len(self.structures)

    @cached_property
    def _is_on(self) -> np.ndarray:
        return self.structures.detach().cpu().numpy() > 0

    def spread(self, per_structure: Tensor, batch_size: int) -> Tensor:
        """Repeat a tensor with one row per structure to one row per sample (or just 1)."""
        if len(per_structure) == 1:
            return per_structure
        return per_structure.repeat_interleave(batch_size // len(per_structure), 0)

    def local(self, c: str) -> Tensor:
        """The local edges of a class: (structure, own field, target)."""
        block: Tensor = self.edges.local_block(self.structures, c)
        return block

    def others(self, k: str, c: str) -> Tensor:
        """The global edges from one class to another: (structure, source's field, target)."""
        block: Tensor = self.edges.global_block(self.structures, k, c)
        return block

    def reads(self, k: str, c: str) -> np.ndarray:
        """Which targets read anything of another class: (structure, target)."""
        found: np.ndarray = self.edges.global_block(self._is_on, k, c).any(1)
        return found

    def elements(self, c: str) -> Tensor:
        """All that may enter the predictors of a class: (structure, target, element)."""
        return self.structures[:, torch.as_tensor(self.layout.of_class(c))]

    def path(self, c: str, name: str) -> Tensor:
        """Which targets use a path: (structure, target); all, if it is none of the layout's."""
        if name not in self.layout.paths:
            return self.structures.new_ones(len(self), len(self.schema.targets(c)))
        return self.structures[:, self._path_columns(c, name)]

    def has_path(self, c: str, name: str) -> np.ndarray:
        """`path` as booleans."""
        if name not in self.layout.paths:
            return np.ones((len(self), len(self.schema.targets(c))), dtype=bool)
        return self._is_on[:, self._path_columns(c, name)]

    def gate(self, c: str, name: str) -> Tensor | None:
        """`path` where it changes anything; None if all targets use the path whole."""
        path = self.path(c, name)
        return None if bool((path == 1).all()) else path

    def _path_columns(self, c: str, name: str) -> np.ndarray:
        place = self.layout.paths.index(name) - len(self.layout.paths)
        columns: np.ndarray = self.layout.of_class(c)[:, place]
        return columns

    def self_edges(self, c: str) -> Tensor:
        """Which targets depend on their own value before: (structure, target)."""
        names, targets = list(self.schema.fields(c)), self.schema.targets(c)
        return self.local(c)[:, [names.index(v) for v in targets], list(range(len(targets)))]


def masked(weight: Tensor, mask: Tensor, num_free: int = 0) -> Tensor:
    """A weight without the inputs that structures forbid: (structure, input, rest * target * out).

    `weight` is (structure or 1, field * channel, ..., target, out), `mask` (structure, field,
    target). After the fields come `num_free` inputs that are none, and always there.
    """
    if num_free:
        fields, free = weight.split([weight.shape[1] - num_free, num_free], dim=1)
        both = [masked(fields, mask), free.flatten(2).expand(len(mask), -1, -1)]
        return torch.cat(both, dim=1)
    groups, num_fields, num_targets = mask.shape
    width = weight.shape[1]
    rows = weight.reshape(len(weight), num_fields, -1, *weight.shape[2:])
    axes = (groups, num_fields, *[1] * (rows.ndim - 4), num_targets, 1)
    return (rows * mask.reshape(axes)).reshape(groups, width, -1)
