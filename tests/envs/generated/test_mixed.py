"""The mixed family: tests/envs/generated/test_world.py looks at what it promises."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from oocdm.envs.generated import GeneratedWorld
from oocdm.envs.generated.mixed import draw_mixed
from tests.envs.generated.interventions import graph_found


def test_worlds_of_a_seed_stay_the_same():
    """Published results name worlds by their seeds."""
    text = "\n".join(GeneratedWorld(world_seed=seed).describe() for seed in range(20))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "18dd66a0fa41e6ed"
    world, rng = GeneratedWorld(world_seed=0), np.random.default_rng(0)
    state = world.reset(3, rng)
    after = world.step(state, world.random_actions(state, rng), rng)[0]
    assert after.values["A"]["x1"][0].tolist() == pytest.approx(
        [0.127051, -0.075407, 0.483277], abs=1e-6
    )


def test_more_classes_can_be_asked_for():
    drawn = [draw_mixed(seed, False, False, 5, 2) for seed in range(12)]
    assert max(len(b.max_objects) for b in drawn) > 3
    assert all(set(b.max_objects) == set(b.schema.classes) for b in drawn)
    largest = max(drawn, key=lambda b: len(b.max_objects))
    assert graph_found(largest, num_worlds=100) == largest.graph
