"""The true graphs are exactly what the simulators do.

Change one attribute of one object, repeat the step with the same random numbers, and see which
attributes of the next state change in any bit: over many states these are the edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oocdm.data.log import Arrays
from oocdm.envs.block import BlockWorld
from oocdm.envs.mouse import MouseWorld
from oocdm.graph import ClassGraph, Edge
from oocdm.worlds.world import AbstractWorld, WorldState

NUM_WORLDS = 3000


def _draw(world: AbstractWorld, class_name: str, field_name: str, shape: Any, rng: Any) -> Any:
    """Values of a field all over its domain; positions crowd so that objects meet."""
    field = world.schema.field(class_name, field_name)
    if field_name == "position":
        return rng.integers(0, 3, size=(*shape, 2))
    if field.dtype is not np.float32:
        return rng.integers(int(field.low), int(field.high) + 1, size=shape)
    low = -10.0 if field.low is None else field.low
    high = 10.0 if field.high is None else field.high
    return rng.uniform(low, high, size=(*shape, *field.shape)).astype(np.float32)


def _random_inputs(world: AbstractWorld, rng: np.random.Generator) -> WorldState:
    """States and actions together."""
    present = world.reset(NUM_WORLDS, rng).present
    values = {
        c: {f: _draw(world, c, f, present[c].shape, rng) for f in world.schema.fields(c)}
        for c in world.schema.classes
    }
    return WorldState(values, present)


def _step(world: AbstractWorld, inputs: Arrays, present: Any) -> Arrays:
    roles = {
        c: {f: world.schema.field(c, f).action for f in fields} for c, fields in inputs.items()
    }
    state, actions = (
        {c: {f: v for f, v in fs.items() if roles[c][f] is role} for c, fs in inputs.items()}
        for role in (False, True)
    )
    after, _, _ = world.step(WorldState(state, present), actions, np.random.default_rng(1))
    return after.values


def _found_edges(world: AbstractWorld) -> set[Edge]:
    rng = np.random.default_rng(0)
    inputs = _random_inputs(world, rng)
    plain = _step(world, inputs.values, inputs.present)
    found = set()
    for source, fields in inputs.values.items():
        for field in fields:
            for row in range(world.max_objects[source]):
                changed = fields[field].copy()
                changed[:, row] = _draw(world, source, field, (NUM_WORLDS,), rng)
                values = {**inputs.values, source: {**fields, field: changed}}
                after = _step(world, values, inputs.present)
                found |= {
                    Edge(source, field, c, f, is_local)
                    for c, f, is_local in _differences(plain, after, source, row)
                }
    return found


def _differences(plain: Arrays, after: Arrays, source: str, row: int) -> set[tuple[str, str, bool]]:
    different = set()
    for name, fields in plain.items():
        for field, value in fields.items():
            change = value.view(np.uint8) != after[name][field].view(np.uint8)
            rows = change.reshape(*value.shape[:2], -1).any(axis=(0, 2))
            for other in np.flatnonzero(rows):
                different.add((name, field, name == source and other == row))
    return different


@pytest.mark.parametrize(
    "world",
    [
        BlockWorld(num_blocks=3),
        BlockWorld(num_blocks=3, variant="released"),
        BlockWorld(num_blocks=2, noise=0.01, ood=True),
        MouseWorld(num_food=2, num_monsters=2, num_traps=2),
        MouseWorld(num_food=2, num_monsters=2, num_traps=2, variant="released", ood=True),
    ],
    ids=["block-paper", "block-released", "block-noisy", "mouse-paper", "mouse-released"],
)
def test_the_simulator_has_exactly_the_edges_of_its_true_graph(world):
    found = ClassGraph.of_edges(world.schema, _found_edges(world))
    assert str(found) == str(world.true_graph)
    assert found == world.true_graph


def test_the_true_graphs_are_those_of_the_paper():
    assert str(BlockWorld().true_graph).splitlines() == [
        "Block.s1 <- self.s1, self.a",
        "Block.s2 <- self.s1, self.s2",
        "Block.s3 <- self.s2, self.s3, self.a",
        "Total.s1 <- self.s1, Block[*].s1",
        "Total.s2 <- self.s2, Block[*].s2",
        "Total.s3 <- self.s3, Block[*].s3",
        "Total.t <- self.t",
    ]
    assert str(MouseWorld().true_graph).splitlines() == [
        "Mouse.health <- self.health, self.hunger, self.position, Monster[*].position",
        "Mouse.hunger <- self.hunger, self.position, Food[*].amount, Food[*].position",
        "Mouse.position <- self.position, self.move, Trap[*].duration, Trap[*].position",
        "Food.amount <- self.amount, self.position, Mouse[*].position",
        "Food.position <- self.position",
        "Monster.noise <- self.noise",
        "Monster.position <- self.position",
        "Trap.duration <- self.duration, self.position, Mouse[*].position",
        "Trap.position <- self.position",
    ]


def test_the_noise_of_a_step_does_not_depend_on_the_state():
    for world in (BlockWorld(num_blocks=None), MouseWorld(num_food=(1, 6))):
        after = []
        for seed in (0, 1):
            state = world.reset(50, np.random.default_rng(seed))
            actions = world.random_actions(state, np.random.default_rng(seed))
            rng = np.random.default_rng(9)
            world.step(state, actions, rng)
            after.append(rng.bit_generator.state)
        assert after[0] == after[1]
