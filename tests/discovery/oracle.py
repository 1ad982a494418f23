"""A stand-in for a fitted model that knows the true graph, proxies included."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from oocdm.discovery import Gains, StructureParts
from oocdm.graph import ClassEdges
from oocdm.schema import Schema


@dataclass
class Oracle:
    """Log-likelihoods of an ideal model: what each part is worth, and what can stand in for it.

    `gains` are what the parts add when nothing stands in for them (a little less than zero for
    those that add nothing, as a fitted model would have it). `stand_ins[part]` are parts of the
    same target, each of which carries a share of what `part` carries.
    """

    schema: Schema
    gains: np.ndarray
    stand_ins: dict[int, dict[int, float]] = field(default_factory=dict)
    calls: int = 0

    @property
    def model(self) -> Any:
        return SimpleNamespace(
            schema=self.schema, edges=ClassEdges.of(self.schema), index=ClassEdges.of(self.schema)
        )

    def part_gains(
        self,
        model: Any,
        data: Any,
        structure: np.ndarray,
        resolution: Any,
        tested: np.ndarray | None = None,
        stopping: Any = None,
        on_settled: Any = None,
    ) -> Gains:
        """In place of `oocdm.discovery.part_gains`; ideal, so without errors."""
        self.calls += 1
        parts = StructureParts.of(self.schema)
        values = np.zeros(parts.width)
        for columns in parts.columns:
            for column in columns if tested is None else columns[tested[columns]]:
                with_it, without_it = structure.copy(), structure.copy()
                with_it[column], without_it[column] = True, False
                values[column] = self._score(with_it, columns) - self._score(without_it, columns)
        return Gains(values, np.zeros(parts.width), np.full(parts.width, 50))

    def _score(self, structure: np.ndarray, columns: np.ndarray) -> float:
        total = 0.0
        for column in columns:
            if structure[column]:
                total += self.gains[column]
            elif self.gains[column] > 0:
                shares = self.stand_ins.get(int(column), {})
                total += self.gains[column] * max(
                    (share for other, share in shares.items() if structure[other]), default=0.0
                )
        return total


def random_oracle(
    schema: Schema,
    rng: np.random.Generator,
    share: tuple[float, float],
    candidates: np.ndarray,
    is_shared: bool = True,
) -> tuple[Oracle, np.ndarray]:
    """An oracle for a random true structure among the candidates, and that structure.

    With `is_shared` a part may stand in for several causes.
    """
    parts = StructureParts.of(schema)
    true = candidates & (rng.random(parts.width) < 0.4)
    gains = np.where(true, rng.uniform(0.5, 3.0, parts.width), -rng.uniform(0, 0.01, parts.width))
    stand_ins: dict[int, dict[int, float]] = {}
    for columns in parts.columns:
        others = columns[~true[columns]]
        for part in columns[true[columns]]:
            chosen = others[rng.random(len(others)) < 0.3]
            others = others if is_shared else np.setdiff1d(others, chosen)
            stand_ins[int(part)] = {int(i): rng.uniform(*share) for i in chosen}
    return Oracle(schema, gains, stand_ins), true
