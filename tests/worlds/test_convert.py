"""Tensors and arrays of the same state."""

from __future__ import annotations

import numpy as np
import torch

from oocdm.envs.mouse import MouseWorld
from oocdm.inference import with_actions
from oocdm.worlds.convert import to_arrays, to_snapshot, to_world_state


def test_there_and_back() -> None:
    world = MouseWorld(num_food=(1, 4))
    state = world.reset(20, np.random.default_rng(0))
    snapshot = to_snapshot(world.schema, state)
    moves = {"Mouse": {"move": torch.ones(20, 1, dtype=torch.long)}}
    again = to_world_state(with_actions(snapshot, moves))
    for c, fields in state.values.items():
        assert np.array_equal(again.present[c], state.present[c])
        assert set(again.values[c]) == set(fields)
        for f, value in fields.items():
            assert again.values[c][f].dtype == value.dtype
            assert np.array_equal(again.values[c][f], value)
            assert torch.equal(snapshot.observed[c][f], snapshot.present[c])


def test_nothing_is_shared() -> None:
    values = torch.zeros(1, 1)
    arrays = to_arrays({"Ball": {"x": values}})
    arrays["Ball"]["x"][:] = 1
    assert float(values) == 0
