"""The parts of a structure: edges and paths, by target."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from oocdm.graph import ClassEdges
from oocdm.models.network import PATHS
from oocdm.schema import Schema


class StructureParts:
    """The columns of a structure, by target: its incoming edges, then its paths."""

    @staticmethod
    @lru_cache(maxsize=64)
    def of(schema: Schema) -> StructureParts:
        """The parts of a schema's structures, made once."""
        return StructureParts(schema)

    def __init__(self, schema: Schema) -> None:
        index = ClassEdges.of(schema)
        self.num_edges = len(index)
        self.targets = [(c, v) for c in schema.classes for v in schema.targets(c)]
        self.width = self.num_edges + len(self.targets) * len(PATHS)
        self.is_edge = np.arange(self.width) < self.num_edges
        self.columns = [
            np.concatenate(
                [index.into(f"{c}.{v}"), self.num_edges + len(PATHS) * i + np.arange(len(PATHS))]
            )
            for i, (c, v) in enumerate(self.targets)
        ]
