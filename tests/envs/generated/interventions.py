"""Edges of a generated world, found by changing values and looking at true distributions."""

from __future__ import annotations

import dataclasses

import numpy as np

from oocdm.envs.generated.blueprint import Blueprint
from oocdm.envs.generated.pilot import run_pilot
from oocdm.graph import ClassGraph, Edge
from oocdm.worlds.world import WorldState


def graph_found(blueprint: Blueprint, num_worlds: int = 25, ood: bool = False) -> ClassGraph:
    """An edge leads to each field whose distribution differs in any bit after a change.

    In some moments one field of one object gets values from other moments.
    """
    before = run_pilot(blueprint, num_worlds, 12, [3], ood).before
    plain = numbers(blueprint, before)
    rng = np.random.default_rng(2)
    found = set()
    for c in blueprint.schema.classes:
        for f in blueprint.schema.fields(c):
            for row in range(blueprint.max_objects[c]):
                after = numbers(blueprint, changed(before, c, f, row, rng))
                for (d, g), values in after.items():
                    differs = (values != plain[d, g]).any(-1) & before.present[d]
                    for other in np.flatnonzero(differs.any(0)):
                        found.add(Edge(c, f, d, g, is_local=bool(c == d and other == row)))
    return ClassGraph.of_edges(blueprint.schema, found)


def changed(before: WorldState, c: str, f: str, row: int, rng: np.random.Generator) -> WorldState:
    """The same moments with other values of a field of one object, where it is present."""
    values, present = before.values[c][f].copy(), before.present[c]
    known = values[present]
    there = present[:, row]
    values[there, row] = known[rng.integers(len(known), size=int(there.sum()))]
    fields = {**before.values[c], f: values}
    return WorldState({**before.values, c: fields}, before.present)


def numbers(blueprint: Blueprint, before: WorldState) -> dict[tuple[str, str], np.ndarray]:
    """All numbers that make a distribution, (world, object, number), by class and field."""
    found = {}
    for m in blueprint.mechanisms:
        distribution = blueprint.distribution_of(m, before)
        shape = before.present[m.own.class_name].shape
        columns = [
            np.broadcast_to(value, shape).reshape(*shape, 1)
            if np.ndim(value) < 3
            else value.reshape(*shape, -1)
            for value in (
                getattr(distribution, field.name) for field in dataclasses.fields(distribution)
            )
        ]
        found[m.own[:2]] = np.concatenate(columns, -1)
    return found
