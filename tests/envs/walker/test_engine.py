"""MuJoCo's walker is Gymnasium's version 4, whatever state it is put into."""

from __future__ import annotations

import sys
import warnings

import gymnasium
import numpy as np
import pytest

from oocdm.envs.walker.engine import Engine, check_mujoco, make_walker2d
from oocdm.errors import OocdmError


def test_it_is_version_4_to_the_bit():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is out of date
        theirs = gymnasium.make("Walker2d-v4", terminate_when_unhealthy=False).unwrapped
    ours, latest = make_walker2d(), gymnasium.make("Walker2d-v5").unwrapped
    envs = (ours, theirs, latest)
    for name in ("frame_skip", "_reset_noise_scale", "dt"):
        assert getattr(ours, name) == getattr(theirs, name)
    starts = [env.reset(seed=3)[0] for env in envs]
    assert (starts[0] == starts[1]).all()
    rng = np.random.default_rng(0)
    for _ in range(200):
        torques = rng.uniform(-1, 1, 6)
        one, other, last = (env.step(torques)[0] for env in envs)
        np.testing.assert_array_equal(one, other)
    assert (one != last).any()  # whose right foot has more friction


def test_states_go_on_as_if_nothing_had_come_between():
    engine, plain = Engine(), make_walker2d()
    plain.np_random = np.random.default_rng(5)
    seen = [plain.reset()[0]]
    torques = np.random.default_rng(1).uniform(-1, 1, (60, 6))
    seen += [plain.step(each)[0] for each in torques]
    state = engine.reset(np.random.default_rng(5))
    stranger = engine.reset(np.random.default_rng(6))
    np.testing.assert_array_equal(engine.observe(state), seen[0])
    for each, expected in zip(torques, seen[1:], strict=True):
        stranger, _ = engine.step(stranger, -each)
        state, found = engine.step(state, each)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(engine.observe(state), expected)


def test_a_state_can_be_made_of_what_is_observed():
    engine = Engine()
    state = engine.reset(np.random.default_rng(0))
    seen = engine.observe(state)
    np.testing.assert_array_equal(engine.observe(engine.state_of(seen)), seen)
    torques = np.full(6, 0.5)
    one, other = (engine.step(each, torques)[1] for each in (state, engine.state_of(seen)))
    np.testing.assert_allclose(one, other, atol=1e-9)  # but x and where the solver begins


def test_without_mujoco_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(OocdmError) as error:
        check_mujoco()
    assert str(error.value) == (
        "Environment `walker`: MuJoCo is needed (import of mujoco halted; None in sys.modules). "
        'Install it by: pip install "oocdm[walker]"'
    )
