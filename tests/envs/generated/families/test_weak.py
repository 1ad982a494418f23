"""Weak causes are worth what was drawn."""

from __future__ import annotations

import numpy as np

from oocdm.envs.generated import GeneratedWorld
from oocdm.envs.generated.chances import ChanceMechanism
from oocdm.envs.generated.families.weak import STRENGTHS, Weak
from oocdm.envs.generated.worth import Effort

EFFORT = Effort(num_draws=8, num_waves=0, max_values=60_000, max_moments=500)


def test_worths_are_spread_over_orders_of_magnitude():
    found = []
    for seed in range(3):
        world = GeneratedWorld(family="weak", world_seed=seed)
        weak = [m for m in world.mechanisms if isinstance(m, ChanceMechanism) and not m.decoy_of]
        names = {f"{m.own.class_name}.{m.own.field_name}" for m in weak}
        edges = [e for e in world.true_graph.edges() if e.target in names]
        found += [worth.nats for worth in world.worths(edges, EFFORT).values()]
        strengths = [abs(i.strength) for m in weak for i in m.influences]
        assert STRENGTHS[0] <= min(strengths) and max(strengths) <= STRENGTHS[1]
    assert 0.001 < min(found) < 0.006 and 0.1 < max(found) < 1.2
    logs = np.log10(found)
    assert np.histogram(logs, [-3, -2, -1, 0.1])[0].min() >= 2


def test_fields_are_infected_imitate_and_persist():
    influences = [
        i
        for seed in range(25)
        for m in Weak([seed], False, True).blueprint().mechanisms
        if isinstance(m, ChanceMechanism)
        for i in m.influences
    ]
    kinds = {(i.source.is_local, i.code is None, i.when is None, i.is_number) for i in influences}
    assert (True, True, True, False) in kinds  # persists
    assert (False, True, True, False) in kinds  # imitates
    assert (False, False, False, True) in kinds  # counts the infected
    assert (True, False, True, False) in kinds  # is shifted by a number
