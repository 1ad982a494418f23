"""Another package's simulator: one record of all that the benchmark of logs needs of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oocdm.bench.simulators.case import Case
from oocdm.bench.simulators.reads import Reads, common_edges, read_places
from oocdm.data.dataset import Dataset
from oocdm.errors import OocdmError
from oocdm.graph import Variable
from oocdm.schema import Schema
from oocdm.worlds import record
from oocdm.worlds.read_objects import Objects

Name = tuple[str, int]  # of an object: its class and number


@dataclass(frozen=True)
class Simulator:
    """The functions of a simulator: how it is made, read, played, changed, copied and asked.

    `make(numbers)` is an environment with so many objects of each class; without numbers each
    episode draws them. `objects` are the simulator's own, of which `value(object, field)` reads
    and `change(object, field, value)` sets a field. `act` is the policy, `read_action` says what
    objects do in an action of the environment, and `to_action` is the reverse.
    """

    name: str
    package: str
    version: str  # the one whose files and lines are listed
    schema: Schema
    make: Callable[[Mapping[str, int] | None], Any]
    copy: Callable[[Any], Any]  # another environment in the same state
    objects: Callable[[Any], dict[Name, Any]]
    value: Callable[[Any, str], Any]
    change: Callable[[Any, str, Any], None]
    act: Callable[[Any, np.random.Generator], Any]
    read_action: Callable[[Any], Objects]
    to_action: Callable[[Objects], Any]
    reads: Mapping[str, Reads]  # all that a step reads, by target
    cases: Callable[[Dataset], Iterator[Case]]  # in which what is watched gets less
    strong: float  # what is watched gets less by more than that, where it matters

    def states(self, class_name: str) -> list[str]:
        """The fields of a class that are no actions."""
        return [f for f, kind in self.schema.fields(class_name).items() if not kind.action]

    def read(self, env: Any) -> Objects:
        """The objects as `oocdm.record` wants them."""
        found: dict[str, dict[str | int, dict[str, Any]]] = {c: {} for c in self.schema.classes}
        for (c, number), each in self.objects(env).items():
            found[c][number] = {f: self.value(each, f) for f in self.states(c)}
        return found

    def values(self, env: Any) -> dict[Variable, float]:
        """All values but the actions, as numbers."""
        return {
            Variable(c, number, f): float(self.value(each, f))
            for (c, number), each in self.objects(env).items()
            for f in self.states(c)
        }

    def places(self) -> dict[str, str]:
        """Where the package reads each edge."""
        return read_places(self.reads)

    def common(self) -> list[str]:
        """The edges that are not rare: those that a graph has to hold."""
        return common_edges(self.name, self.reads)


def log_steps(
    simulator: Simulator,
    steps: int,
    seed: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Dataset:
    """Log transitions of a simulator."""
    return record(
        simulator.make(None),
        simulator.read,
        simulator.act,
        schema=simulator.schema,
        steps=steps,
        seed=seed,
        read_action=simulator.read_action,
        progress=progress,
    )


def not_installed(package: str) -> OocdmError:
    """What is said where a package is missing.

    >>> print(not_installed("mpe2"))
    bench logs: expected the package mpe2, which is not installed. Write pip install "oocdm[logs]".
    """
    return OocdmError(
        f"bench logs: expected the package {package}, which is not installed. Write "
        'pip install "oocdm[logs]".'
    )
