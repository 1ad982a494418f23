"""Fields that no action can move: their futures are drawn once, whatever is tried."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.graph import ClassGraph

FieldName = tuple[str, str]


class UnmovedFields:
    """Remembers steps of those fields that no action reaches under a graph.

    A planner tries many sequences of actions from one state. What the actions cannot reach goes
    on alike in all of them: with the same parents, the very tensors, and the same seed it need
    not be computed again. The latest `steps` steps are kept.

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
        self._kept: OrderedDict[tuple[str, str, int], tuple[list[Tensor], Tensor]] = OrderedDict()

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
        if known is not None and all(a is b for a, b in zip(known[0], read, strict=True)):
            return known[1]
        value = draw()
        self._kept[c, f, seed] = (read, value)
        if len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
        return value


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
