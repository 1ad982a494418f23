"""A stand-in for a fitted model that knows the true graph, proxies included."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from oocdm.discovery import Gains
from oocdm.graph import ClassEdges, Layout, Structure
from oocdm.schema import Schema

PATHS = ("one", "another", "third")


def layout_of(schema: Schema) -> Layout:
    """Every possible edge of a schema, and three paths for each target."""
    return Layout(ClassEdges.of(schema), PATHS)


@dataclass
class Oracle:
    """Log-likelihoods of an ideal model: what each element is worth, and what can stand in for it.

    `gains` are what the elements add when nothing stands in for them (a little less than zero for
    those that add nothing, as a fitted model would have it). `stand_ins[element]` are elements of
    the same target, each of which carries a share of what `element` carries.
    """

    layout: Layout
    gains: np.ndarray
    stand_ins: dict[int, dict[int, float]] = field(default_factory=dict)
    calls: int = 0

    @property
    def model(self) -> Any:
        return SimpleNamespace(
            schema=self.layout.edges.schema, layout=self.layout, edges=self.layout.edges
        )

    def element_gains(
        self,
        model: Any,
        data: Any,
        structure: Structure,
        resolution: Any,
        tested: Structure | None = None,
        stopping: Any = None,
        on_settled: Any = None,
    ) -> Gains:
        """In place of `oocdm.discovery.element_gains`; ideal, so without errors."""
        self.calls += 1
        assert structure.layout == self.layout
        values = np.zeros(len(self.layout))
        for columns in self.layout.by_target:
            for column in columns if tested is None else columns[tested.flags[columns]]:
                with_it, without_it = structure.flags.copy(), structure.flags.copy()
                with_it[column], without_it[column] = True, False
                values[column] = self._score(with_it, columns) - self._score(without_it, columns)
        return Gains(values, np.zeros(len(values)), np.full(len(values), 50))

    def _score(self, flags: np.ndarray, columns: np.ndarray) -> float:
        total = 0.0
        for column in columns:
            if flags[column]:
                total += self.gains[column]
            elif self.gains[column] > 0:
                shares = self.stand_ins.get(int(column), {})
                total += self.gains[column] * max(
                    (share for other, share in shares.items() if flags[other]), default=0.0
                )
        return total


def random_oracle(
    rng: np.random.Generator,
    share: tuple[float, float],
    candidates: Structure,
    is_shared: bool = True,
) -> tuple[Oracle, Structure]:
    """An oracle for a random true structure among the candidates, and that structure.

    With `is_shared` an element may stand in for several causes.
    """
    layout = candidates.layout
    true = candidates.flags & (rng.random(len(layout)) < 0.4)
    gains = np.where(true, rng.uniform(0.5, 3.0, len(layout)), -rng.uniform(0, 0.01, len(layout)))
    stand_ins: dict[int, dict[int, float]] = {}
    for columns in layout.by_target:
        others = columns[~true[columns]]
        for element in columns[true[columns]]:
            chosen = others[rng.random(len(others)) < 0.3]
            others = others if is_shared else np.setdiff1d(others, chosen)
            stand_ins[int(element)] = {int(i): rng.uniform(*share) for i in chosen}
    return Oracle(layout, gains, stand_ins), Structure(layout, true)
