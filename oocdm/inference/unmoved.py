"""Fields that no action can move: their futures are drawn once, whatever is tried."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from oocdm.data.derived import version_of
from oocdm.data.snapshot import Snapshot
from oocdm.graph import ClassGraph

FieldName = tuple[str, str]


class UnmovedFields:
    """Remembers steps of those fields that no action reaches under a graph.

    A planner tries many sequences of actions from one state. What the actions cannot reach goes
    on alike in all of them: with the same parents, the very tensors and not changed since, and
    the same seed it need not be computed again. The latest `steps` steps are kept.

    >>> from oocdm.envs.mouse import MouseWorld
    >>> graph = MouseWorld().true_graph
    >>> fields = UnmovedFields(graph, ["Mouse.hunger", "Food.position", "Monster.position"], 20)
    >>> sorted(fields.names)
    [('Food', 'position'), ('Monster', 'position')]
    """

    def __init__(self, graph: ClassGraph, fields: Iterable[str], steps: int) -> None:
        moved = moved_by_actions(graph)
        chosen = [name for name in fields if name not in moved]
        self._parents: dict[FieldName, list[FieldName]] = {_split(name): [] for name in chosen}
        for edge in graph.edges():
            if edge.target in chosen:
                source = (edge.source_class, edge.source_field)
                self._parents[_split(edge.target)].append(source)
        self._capacity = steps * len(chosen)
        self._kept: OrderedDict[tuple[str, str, int], _Step] = OrderedDict()

    @property
    def names(self) -> set[FieldName]:
        """The fields whose steps are remembered."""
        return set(self._parents)

    def next_value(
        self, c: str, f: str, before: Snapshot, seed: int | None, draw: Callable[[], Tensor]
    ) -> Tensor:
        """What a field becomes: remembered, or drawn and then remembered if no action moves it."""
        if seed is None or (c, f) not in self._parents:
            return draw()
        parents = self._parents[c, f]
        read = [before.values[k][g] for k, g in parents]
        read += [before.present[c], *(before.present[k] for k, _ in parents)]
        known = self._kept.get((c, f, seed))
        if known is not None and known.is_of(read):
            return known.value
        # A tensor of its own outside inference mode, which tells whether it was changed.
        with torch.inference_mode(False), torch.no_grad():
            value = draw()
        self._kept[c, f, seed] = _Step(read, value)
        if len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
        return value


class _Step:
    """What was drawn, and from what."""

    def __init__(self, read: list[Tensor], value: Tensor) -> None:
        self._read, self.value = read, value
        self._versions = self._versions_now()

    def is_of(self, read: list[Tensor]) -> bool:
        """Whether the same tensors are read, and neither they nor the value have changed."""
        is_same = all(a is b for a, b in zip(self._read, read, strict=True))
        return is_same and None not in self._versions and self._versions == self._versions_now()

    def _versions_now(self) -> list[int | None]:
        return [version_of(tensor) for tensor in (*self._read, self.value)]


def moved_by_actions(graph: ClassGraph) -> set[str]:
    """The state fields that actions can reach under a graph, at once or later.

    >>> from oocdm.envs.mouse import MouseWorld
    >>> sorted(moved_by_actions(MouseWorld().true_graph))
    ['Food.amount', 'Mouse.health', 'Mouse.hunger', 'Mouse.position', 'Trap.duration']
    """
    schema = graph.schema
    moved: set[str] = set()
    while True:
        more = {
            edge.target
            for edge in graph.edges()
            if f"{edge.source_class}.{edge.source_field}" in moved
            or schema.field(edge.source_class, edge.source_field).action
        }
        if more <= moved:
            return moved
        moved |= more


def _split(name: str) -> FieldName:
    class_name, _, field_name = name.partition(".")
    return class_name, field_name
