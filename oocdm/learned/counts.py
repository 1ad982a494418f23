"""How many objects of each class a learned world has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from oocdm.errors import PlanError, suggest
from oocdm.graph import VariableGraph
from oocdm.inference import Fitted
from oocdm.inference.fitted import prediction_graph
from oocdm.reading import CountOrZero, read
from oocdm.schema import Schema

Objects = Annotated[CountOrZero, "Give how many objects there are, or a range (low, high)."]
Counted = Mapping[str, Objects | tuple[Objects, Objects]]


@dataclass(frozen=True)
class Counts:
    """The lowest and highest number of objects of each class; an episode draws one between.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> class Wall(ObjectClass):
    ...     width = Real()
    >>> counts = Counts.of(Schema(Ball, Wall), {"Ball": (2, 5), "Wall": 0})
    >>> counts.max_objects
    {'Ball': 5, 'Wall': 1}
    >>> counts.draw(np.random.default_rng(0))
    {'Ball': 5, 'Wall': 0}
    """

    ranges: Mapping[str, tuple[int, int]]

    @staticmethod
    def of(schema: Schema, counts: Counted) -> Counts:
        """Counts of every class of a schema, each one number or a range."""
        counts = read(Counted, counts, "counts", PlanError)
        for name in counts:
            if name not in schema.classes:
                raise PlanError(f"counts: unknown class `{name}`. {suggest(name, schema.classes)}")
        missing = [name for name in schema.classes if name not in counts]
        if missing:
            raise PlanError(
                f"counts: expected the number of objects of every class, got none of "
                f"{', '.join(missing)}. Give 0 for a class that the world shall not have."
            )
        return Counts({name: _range(name, counts[name]) for name in schema.classes})

    def check_fit(self, result: Fitted) -> None:
        """Raise a `PlanError` if a model, or its graph, is made for other numbers of objects."""
        fixed, graph = result.model.counts, prediction_graph(result)
        for name, (low, high) in self.ranges.items():
            if fixed is not None and (low, high) != (fixed[name], fixed[name]):
                raise PlanError(
                    f"counts[{name!r}]: expected {fixed[name]}, as in training, got "
                    f"{_describe(low, high)}. This model knows its objects one by one; methods "
                    "`oocdm` and `oofull` take any numbers."
                )
            # Its rows are those of the world, some of which may be empty.
            if fixed is None and isinstance(graph, VariableGraph):
                rows = graph.counts.get(name, 0)
                if self.max_objects[name] != rows:
                    raise PlanError(
                        f"counts[{name!r}]: expected at most {rows}, and as many in some episodes, "
                        f"as in the variable graph, got {_describe(low, high)}. A variable graph "
                        "is for fixed numbers of objects: give a result with a class graph."
                    )

    @property
    def max_objects(self) -> dict[str, int]:
        """The number of rows of each class: one empty row rather than none, as in true worlds."""
        return {name: max(1, high) for name, (_, high) in self.ranges.items()}

    def draw(self, rng: np.random.Generator) -> dict[str, int]:
        """The numbers of one episode."""
        return {
            name: low if low == high else int(rng.integers(low, high + 1))
            for name, (low, high) in self.ranges.items()
        }


def _describe(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} to {high}"


def _range(name: str, given: int | tuple[int, int]) -> tuple[int, int]:
    low, high = given if isinstance(given, tuple) else (given, given)
    if low > high:
        raise PlanError(f"counts[{name!r}]: expected low <= high of a range, got {given!r}.")
    return low, high
