"""What reaches what under a class graph, step by step."""

from __future__ import annotations

from collections.abc import Iterable

from oocdm.graph import ClassGraph
from oocdm.schema import Schema


def reaching(graph: ClassGraph, reads: Iterable[str], horizon: int | None = None) -> set[str]:
    """The state fields that can reach some fields under a graph, those fields included.

    With a horizon, within so many steps: in the last one only what is read matters.

    >>> from oocdm.envs.block import TRUE_GRAPH
    >>> sorted(reaching(TRUE_GRAPH, ["Total.s1"]))
    ['Block.s1', 'Total.s1']
    """
    parents: dict[str, set[str]] = {}
    for edge in graph.edges():
        if graph.schema.field(edge.source_class, edge.source_field).is_target:
            source = f"{edge.source_class}.{edge.source_field}"
            parents.setdefault(edge.target, set()).add(source)
    names = [reads] if isinstance(reads, str) else reads
    found = {name for name in names if _field_is_target(graph.schema, name)}
    steps = 1
    while horizon is None or steps < horizon:
        more = found.union(*(parents.get(name, set()) for name in found))
        if more == found:
            break
        found, steps = more, steps + 1
    return found


def reached(graph: ClassGraph) -> list[set[str]]:
    """The state fields that actions can have reached after no step, after one, and so on.

    The last of them are those of all later steps as well.

    >>> from oocdm.envs.mouse import MouseWorld
    >>> [sorted(fields)[-1:] for fields in reached(MouseWorld().true_graph)]
    [[], ['Mouse.position'], ['Trap.duration']]
    """
    schema = graph.schema
    actions = {
        f"{c}.{f}" for c in schema.classes for f, field in schema.fields(c).items() if field.action
    }
    edges = [(f"{edge.source_class}.{edge.source_field}", edge.target) for edge in graph.edges()]
    steps: list[set[str]] = [set()]
    while True:
        sources = actions | steps[-1]
        more = {target for source, target in edges if source in sources}
        if more == steps[-1]:
            return steps
        steps.append(more)


def _field_is_target(schema: Schema, name: str) -> bool:
    class_name, _, field_name = name.partition(".")
    return schema.field(class_name, field_name).is_target
