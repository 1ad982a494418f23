"""Cases of what-if in a log: something is set at one step, and something is watched later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from oocdm.data.dataset import Dataset
from oocdm.graph import Variable


@dataclass(frozen=True)
class Case:
    """Variables that are set in a row of a log, and a sum of variables after `horizon` steps.

    `watched` has the weight of each variable in the sum.

    >>> x, y = Variable("Ball", 0, "x"), Variable("Ball", 0, "y")
    >>> Case(row=3, do={x: 1.0}, watched={x: 0.5, y: 2.0}, horizon=5).total({x: 4.0, y: 1.0})
    4.0
    """

    row: int
    do: Mapping[Variable, float]
    watched: Mapping[Variable, float]
    horizon: int

    def total(self, values: Mapping[Variable, float]) -> float:
        """The sum that is watched."""
        return sum(weight * values[variable] for variable, weight in self.watched.items())


def moments(data: Dataset, horizon: int, every: int) -> Iterator[int]:
    """Rows of a log, `every` so many steps, whose episode goes on for `horizon` steps."""
    for row in data.starts.tolist():
        later = data.episode[row + horizon : row + horizon + 1]
        if data.step[row] % every == 0 and later.tolist() == [data.episode[row]]:
            yield row
