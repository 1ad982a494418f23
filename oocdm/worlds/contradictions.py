"""Where a world does what its true graph rules out: found by changing values before a step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from oocdm.data.log import Arrays
from oocdm.graph import ClassGraph, Edge
from oocdm.schema import Field, Schema
from oocdm.worlds.world import AbstractWorld, WorldState

ROUNDS = 8  # changes of each field, in every world
SECONDS = 1.0  # after which no further round begins
TOLERANCE = 1e-5  # rounding is no effect
SMALLEST = 1e-8  # of a field's largest value: what is left of 0 after rounding


def contradictions(
    world: AbstractWorld, graph: ClassGraph, before: WorldState, seed: int
) -> Iterator[str]:
    """Effects that the graph rules out, each once, in words.

    `before` holds states and actions of many worlds. In each, one field of one object gets
    another value that occurs; the step is repeated with the same random numbers, and whatever
    differs depends on that field.

    >>> import oocdm
    >>> world = oocdm.make("block", num_blocks=2).world
    >>> rng = np.random.default_rng(0)
    >>> state = world.reset(50, rng)
    >>> state.values["Block"]["a"] = world.random_actions(state, rng)["Block"]["a"]
    >>> wrong = world.true_graph.without(Edge("Block", "s1", "Block", "s2", is_local=True))
    >>> [text[:62] for text in contradictions(world, wrong, state, seed=0)]
    ['BlockWorld.true_graph: expected no effect of `self.s1` on `Blo']
    >>> list(contradictions(world, world.true_graph, state, seed=0))
    []
    """
    rng = np.random.default_rng(seed)
    told: set[Edge | None] = set()
    fields = [(c, f) for c in world.schema.classes for f in world.schema.fields(c)]
    plain, plain_end = _step(world, before, seed)
    until = time.monotonic() + SECONDS
    for number in range(ROUNDS):
        for c, f in fields:
            if number and time.monotonic() > until:
                return
            rows, changed = _change(world.schema.field(c, f), c, f, before, rng)
            after, end = _step(world, changed, seed)
            if end != plain_end:  # other random numbers: nothing can be said
                if None not in told:
                    told.add(None)
                    yield _cannot_tell(world, c, f)
                continue
            for edge, at in _effects(world.schema, (c, f), rows, plain, after):
                if edge not in graph and edge not in told:
                    told.add(edge)
                    yield _say(world, edge, rows, at, (before, changed), (plain, after))


def _step(world: AbstractWorld, both: WorldState, seed: int) -> tuple[WorldState, Any]:
    """The next state, and where the random numbers then stand."""

    def part(is_action: bool) -> Arrays:
        return {
            c: {f: v.copy() for f, v in fields.items() if schema.field(c, f).action is is_action}
            for c, fields in both.values.items()
        }

    schema, rng = world.schema, np.random.default_rng(seed)
    present = {c: p.copy() for c, p in both.present.items()}
    after = world.step(WorldState(part(False), present), part(True), rng)[0]
    return after, rng.bit_generator.state


def _change(
    field: Field, c: str, f: str, before: WorldState, rng: np.random.Generator
) -> tuple[np.ndarray, WorldState]:
    """Which object of each world got another value, -1 where there is none, and all values."""
    values, present = before.values[c][f], before.present[c]
    rows = np.where(present, rng.random(present.shape), -1.0).argmax(1)
    rows = np.where(present.any(1), rows, -1)
    known = values[present]
    if len(known) == 0:
        return rows, before
    worlds = np.flatnonzero(rows >= 0)
    new = known[rng.integers(len(known), size=len(worlds))]
    if (known == known[0]).all():  # no other value occurs
        away = np.where(field.is_real & (known[0] != 0), np.abs(known[0]), 1)  # in its own unit
        other = field.clip(known[0] + away)
        new[:] = np.where(other == known[0], field.clip(known[0] - away), other)
    changed = values.copy()
    changed[worlds, rows[worlds]] = new
    fields = {**before.values[c], f: changed}
    return rows, WorldState({**before.values, c: fields}, before.present)


def _effects(
    schema: Schema,
    source: tuple[str, str],
    rows: np.ndarray,
    plain: WorldState,
    after: WorldState,
) -> Iterator[tuple[Edge, tuple[int, int]]]:
    """The edges along which a change spread, each with a world and an object that show it."""
    for c in schema.classes:
        there = np.asarray(plain.present[c]) & np.asarray(after.present[c])
        is_self = (np.arange(there.shape[1]) == rows[:, None]) & (c == source[0])
        for f in schema.targets(c):
            one, other = (np.asarray(s.values[c][f], np.float64) for s in (plain, after))
            least = SMALLEST * float(np.abs(one).max(initial=0.0, where=np.isfinite(one)))
            is_close = np.isclose(one, other, TOLERANCE, least, equal_nan=True)
            differs = ~is_close.reshape(*there.shape, -1).all(2) & there
            for is_local, found in ((True, differs & is_self), (False, differs & ~is_self)):
                if found.any():
                    world, row = np.argwhere(found)[0]
                    yield Edge(*source, c, f, is_local), (int(world), int(row))


def _say(
    world: AbstractWorld,
    edge: Edge,
    rows: np.ndarray,
    at: tuple[int, int],
    before: tuple[WorldState, WorldState],
    after: tuple[WorldState, WorldState],
) -> str:
    place, source, target = at[0], edge.source_class, edge.target_class
    had, got = (np.asarray(s.values[source][edge.source_field])[place, rows[place]] for s in before)
    was, became = (np.asarray(s.values[target][edge.target_field])[at] for s in after)
    return (
        f"{type(world).__name__}.true_graph: expected no effect of `{edge.source}` on "
        f"`{edge.target}`, got one: with {source}[{rows[place]}].{edge.source_field} at "
        f"{got.tolist()} instead of {had.tolist()}, and all random numbers equal, the next "
        f"{target}[{at[1]}].{edge.target_field} is {became.tolist()} instead of {was.tolist()}. "
        f"Add `{edge}` to the graph, or correct `step`."
    )


def _cannot_tell(world: AbstractWorld, c: str, f: str) -> str:
    return (
        f"{type(world).__name__}.true_graph: cannot be checked: expected as many random numbers "
        f"in every step, got other ones when `{c}.{f}` was changed. Draw arrays of a shape that "
        "does not depend on the state, and select from them."
    )
