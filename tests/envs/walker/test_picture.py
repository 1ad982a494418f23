from __future__ import annotations

import os
import sys
from dataclasses import replace

import numpy as np
import pytest

import oocdm
from oocdm.envs.walker import WalkerWorld, picture
from oocdm.envs.walker.picture import HEIGHT, WIDTH, draw_walker


def test_pictures_show_the_state_that_they_are_of():
    world, rng = WalkerWorld(), np.random.default_rng(0)
    start = state = world.reset(1, rng)
    for _ in range(40):
        state, _, _ = world.step(state, world.random_actions(state, rng), rng)
    first, later = draw_walker(start), draw_walker(state)
    assert first.shape == (HEIGHT, WIDTH, 3) and first.dtype == np.uint8
    assert first.std() > 10  # not blank
    assert (first != later).mean() > 0.01
    np.testing.assert_array_equal(draw_walker(start), first)
    assert (draw_walker(replace(start, memory={})) != first).mean() < 0.05  # but for x


def test_the_environment_renders():
    env = oocdm.make("walker", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (HEIGHT, WIDTH, 3)


@pytest.mark.parametrize(("given", "expected"), [(None, "egl"), ("osmesa", "osmesa")])
def test_what_draws_is_chosen_only_if_nobody_did(given, expected, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", given or "")
    if given is None:
        monkeypatch.delenv("MUJOCO_GL")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(picture, "Engine", lambda **options: os.environ["MUJOCO_GL"])
    assert picture._engine.__wrapped__() == expected
