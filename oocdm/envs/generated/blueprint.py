"""What a generated world is made of, and its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from oocdm.data.log import Arrays
from oocdm.envs.generated.distribution import Distribution
from oocdm.envs.generated.mechanisms import AbstractMechanism
from oocdm.envs.generated.source import Source, join, read
from oocdm.envs.generated.start import Start
from oocdm.envs.padding import present_rows, zero_absent
from oocdm.graph import ClassGraph, Edge
from oocdm.schema import Schema
from oocdm.worlds.world import WorldState

Distributions = Mapping[str, Mapping[str, Distribution]]


@dataclass(frozen=True)
class Blueprint:
    """Classes, numbers of objects, starts and mechanisms, with which worlds can be stepped.

    A field without a start of its own starts in (-1, 1), or with equal odds.

    >>> from oocdm.envs.generated.mechanisms import RealMechanism
    >>> from oocdm.schema import ObjectClass, Real
    >>> class A(ObjectClass):
    ...     x1 = Real()
    >>> halve = RealMechanism(Source("A", "x1", is_local=True), keep=0.5)
    >>> blueprint = Blueprint(Schema(A), {"A": 2}, False, [halve])
    >>> state = WorldState({"A": {"x1": np.array([[1.0, 4.0]])}}, {"A": np.ones((1, 2), bool)})
    >>> blueprint.step(state, {}, np.random.default_rng(0)).values["A"]["x1"].tolist()
    [[0.5, 2.0]]
    """

    schema: Schema
    max_objects: Mapping[str, int]
    varying: bool
    mechanisms: Sequence[AbstractMechanism]
    starts: Mapping[tuple[str, str], Start] = field(default_factory=dict)

    @property
    def graph(self) -> ClassGraph:
        """Exactly what the mechanisms read."""
        edges = [edge_of(s, m) for m in self.mechanisms for s in m.sources]
        return ClassGraph.of_edges(self.schema, edges)

    def reset(self, num_worlds: int, rng: np.random.Generator, ood: bool = False) -> WorldState:
        """Start episodes."""
        values: dict[str, dict[str, np.ndarray]] = {}
        present = {}
        for name, rows in self.max_objects.items():
            least = 1 if self.varying else rows
            present[name] = present_rows(rng.integers(least, rows + 1, size=num_worlds), rows)
            values[name] = {
                f: self._start(name, f).draw(kind, (num_worlds, rows), rng, ood)
                for f, kind in self.schema.fields(name).items()
                if not kind.action
            }
        for (name, f), start in self.starts.items():
            if start.near is not None:
                values[name][f] *= np.float32(start.own_part)
                values[name][f] += values[name][start.near]
        return WorldState({c: zero_absent(v, present[c]) for c, v in values.items()}, present)

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> Arrays:
        """Uniform actions."""
        return {
            c: zero_absent(
                {
                    f: self._start(c, f).draw(kind, present.shape, rng, ood=False)
                    for f, kind in self.schema.fields(c).items()
                    if kind.action
                },
                present,
            )
            for c, present in state.present.items()
        }

    def distribution(self, state: WorldState, actions: Arrays) -> Distributions:
        """The true distribution of every next value; rows that are no objects have one, too."""
        before = join(state, actions)
        found: dict[str, dict[str, Distribution]] = {name: {} for name in state.present}
        for m in self.mechanisms:
            found[m.own.class_name][m.own.field_name] = self.distribution_of(m, before)
        return found

    def distribution_of(self, mechanism: AbstractMechanism, before: WorldState) -> Distribution:
        """That of one field, from states and actions together."""
        name, f, _ = mechanism.own
        inputs = {s: read(before, s, name) for s in mechanism.sources}
        shape = (*before.present[name].shape, *self.schema.field(name, f).shape)
        return mechanism.distribution(inputs, shape)

    def step(self, state: WorldState, actions: Arrays, rng: np.random.Generator) -> WorldState:
        """The next state; static fields stay."""
        after: dict[str, dict[str, np.ndarray]] = {
            c: {f: v for f, v in fields.items() if self.schema.field(c, f).static}
            for c, fields in state.values.items()
        }
        for c, found in self.distribution(state, actions).items():
            after[c] |= {f: distribution.sample(rng) for f, distribution in found.items()}
        values = {c: zero_absent(fields, state.present[c]) for c, fields in after.items()}
        return WorldState(values, state.present)

    def _start(self, class_name: str, field_name: str) -> Start:
        return self.starts.get((class_name, field_name), Start())


def edge_of(source: Source, mechanism: AbstractMechanism) -> Edge:
    """The edge along which a mechanism reads a source.

    >>> from oocdm.envs.generated.mechanisms import RealMechanism
    >>> x = Source("A", "x1", is_local=True)
    >>> print(edge_of(x, RealMechanism(x, keep=0.5)))
    A.x1 <- self.x1
    """
    return Edge(*source[:2], *mechanism.own[:2], source.is_local)
