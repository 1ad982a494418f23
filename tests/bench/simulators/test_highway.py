"""Logs of highway-env."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from oocdm.bench.simulators.highway import (
    CARS,
    HIGHWAY,
    SCHEMA,
    change,
    make_highway,
    read_action,
    to_action,
    vehicles,
)
from oocdm.bench.simulators.simulator import log_steps
from oocdm.data.dataset import Dataset
from oocdm.errors import OocdmError


def test_cars_of_varying_numbers_are_logged(highway: Dataset) -> None:
    assert len(highway) == 300 and highway.schema == SCHEMA
    counts = highway.present["Car"].sum(1)
    assert CARS[0] <= counts.min() < counts.max() <= CARS[1]
    assert (highway.present["Ego"].sum(1) == 1).all()
    x, speed = (highway.values["Car"][f] for f in ("x", "speed"))
    starts, there = highway.starts, highway.present["Car"][highway.starts]
    moved = (x[starts + 1] - x[starts])[there]
    assert np.abs(moved - 0.2 * speed[starts][there]).max() < 0.5  # of 5 m a step
    assert len(np.unique(highway.values["Ego"]["action"][starts])) == 5


def test_the_seed_decides(highway: Dataset) -> None:
    again = log_steps(HIGHWAY, 20, seed=1)
    same = slice(0, int((again.episode == 0).sum()) - 1)
    assert np.array_equal(again.values["Ego"]["x"][same, 0], highway.values["Ego"]["x"][same, 0])
    other = log_steps(HIGHWAY, 20, seed=2)
    assert not np.array_equal(other.values["Ego"]["x"][1, 0], highway.values["Ego"]["x"][1, 0])


def test_every_field_can_be_changed() -> None:
    pytest.importorskip("highway_env")
    env = make_highway()
    env.reset(seed=0)
    before = HIGHWAY.read(env)["Car"][0]
    for f, value in before.items():
        changed = (value + 1) % 3 if f == "lane" else value + 0.5
        change(vehicles(env)["Car", 0], f, changed)
        assert HIGHWAY.read(env)["Car"][0] == {**before, f: pytest.approx(changed)}
        change(vehicles(env)["Car", 0], f, value)


def test_numbers_may_be_given() -> None:
    pytest.importorskip("highway_env")
    env = make_highway({"Ego": 1, "Car": 4})
    for seed in (0, None):
        env.reset(seed=seed)
        assert len(vehicles(env)) == 5


def test_actions_go_there_and_back() -> None:
    assert all(to_action(read_action(action)) == action for action in range(5))


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highway_env", None)
    with pytest.raises(OocdmError) as error:
        make_highway()
    assert str(error.value) == (
        "bench logs: expected the package highway-env, which is not installed. Write pip install "
        '"oocdm[logs]".'
    )
