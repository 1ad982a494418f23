"""The random agent."""

from __future__ import annotations

import numpy as np
import torch

from oocdm.envs.mouse import MouseWorld
from oocdm.planning import RandomAgent
from oocdm.planning.convert import to_snapshot


def test_it_draws_what_the_world_draws_and_only_for_those_that_act() -> None:
    world = MouseWorld()
    state = world.reset(20, np.random.default_rng(1))
    snapshot = to_snapshot(world.schema, state)
    agent = RandomAgent(world, seed=3)
    agent.reset(20)
    expected = world.random_actions(state, np.random.default_rng(3))["Mouse"]["move"]
    assert np.array_equal(agent.act(snapshot)["Mouse"]["move"].numpy(), expected)
    can_act = {"Mouse": torch.arange(20).unsqueeze(-1) < 10}
    agent.reset(20)
    found = agent.act(snapshot, can_act)["Mouse"]["move"].numpy()
    assert np.array_equal(found[:10], expected[:10]) and not found[10:].any()
