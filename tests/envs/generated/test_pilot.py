"""Pilot episodes."""

from __future__ import annotations

import numpy as np
import pytest

from oocdm.envs.generated.blueprint import Blueprint
from oocdm.envs.generated.mechanisms import RealMechanism
from oocdm.envs.generated.pilot import is_jittered, run_pilot
from oocdm.envs.generated.source import Source
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema


class A(ObjectClass):
    x1 = Real()


def blueprint(keep, noise=0.0):
    own = Source("A", "x1", is_local=True)
    return Blueprint(Schema(A), {"A": 2}, False, [RealMechanism(own, keep, noise=noise)])


def test_moments_of_all_steps_are_there_in_any_order():
    pilot = run_pilot(blueprint(0.5), 10, 4, [0])
    assert pilot.size == 40 and pilot.select(slice(7)).size == 7
    before, after = pilot.before.values["A"]["x1"], pilot.after["A"]["x1"]
    np.testing.assert_allclose(after, 0.5 * before)
    assert not (np.diff(np.abs(before[:, 0])) < 0).all()


def test_the_usual_change_is_a_spread():
    pilot = run_pilot(blueprint(1.0, noise=0.2), 400, 5, [0])
    assert pilot.usual_change("A", "x1") == pytest.approx(0.2, rel=0.05)
    constant = run_pilot(blueprint(1.0), 400, 5, [0])
    assert constant.usual_change("A", "x1") == pytest.approx(1 / 3**0.5, rel=0.05)


def test_an_explosion_is_seen_and_makes_no_noise():
    assert run_pilot(blueprint(1e30), 5, 4, [0]).largest() == np.inf
    assert run_pilot(blueprint(0.5), 5, 4, [0]).largest() <= 0.5
    assert 0.5 < run_pilot(blueprint(0.5), 5, 4, [0], ood=True).largest() <= 1


def test_choices_are_not_jittered():
    fields = (Real(), Integer(), Boolean(), Categorical(3), Integer(0, 3))
    assert [is_jittered(f) for f in fields] == [True, True, False, False, False]
