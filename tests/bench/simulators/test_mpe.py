"""Logs of mpe2."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from oocdm.bench.simulators.mpe import (
    MPE,
    NUMBERS,
    SCHEMA,
    STEPS,
    change,
    copy_mpe,
    entities,
    make_mpe,
    read_action,
    roam,
    to_action,
    value_of,
)
from oocdm.bench.simulators.mpe_cases import SIZES
from oocdm.bench.simulators.simulator import log_steps
from oocdm.data.dataset import Dataset
from oocdm.errors import OocdmError

SMALL = {"Predator": 2, "Prey": 2, "Landmark": 1}


def test_agents_of_varying_numbers_are_logged(mpe: Dataset) -> None:
    assert len(mpe) == 400 and mpe.schema == SCHEMA
    for c, (least, most) in NUMBERS.items():
        counts = mpe.present[c].sum(1)
        assert least <= counts.min() < counts.max() <= most
    assert np.bincount(mpe.episode_of).tolist() == [STEPS] * 8
    rows, there = mpe.starts, mpe.present["Prey"][mpe.starts]
    x, vx = (mpe.values["Prey"][f] for f in ("x", "vx"))
    went = (x[rows + 1] - x[rows])[there]
    assert went == pytest.approx(0.1 * vx[rows][there], abs=1e-6)
    assert len(np.unique(mpe.values["Prey"]["move"][rows][there])) == 5


def test_agents_meet(mpe: Dataset) -> None:
    """In a quarter of the steps or more an agent touches something."""
    touches = total = 0
    for row in mpe.starts:
        names = [(c, i) for c in SIZES for i in np.flatnonzero(mpe.present[c][row])]
        place = np.array([[mpe.values[c][f][row, i] for f in ("x", "y")] for c, i in names])
        size = np.array([SIZES[c] for c, _ in names])
        gaps = np.linalg.norm(place[:, None] - place, axis=2) - size[:, None] - size
        np.fill_diagonal(gaps, 1.0)
        agents = [i for i, (c, _) in enumerate(names) if c != "Landmark"]
        touches += int((gaps[agents].min(1) < 0).sum())
        total += len(agents)
    assert 0.25 < touches / total < 0.35


def test_sizes_are_those_of_the_package() -> None:
    pytest.importorskip("mpe2")
    env = make_mpe(SMALL)
    env.reset(seed=0)
    assert {c: entity.size for (c, _), entity in entities(env).items()} == SIZES
    assert {entity.mass for entity in entities(env).values()} == {1.0}


def test_the_seed_decides(mpe: Dataset) -> None:
    again = log_steps(MPE, 60, seed=1)
    for c in ("Predator", "Landmark"):
        width = again.values[c]["x"].shape[1]
        assert np.array_equal(
            again.values[c]["x"][:60], mpe.values[c]["x"][:60, :width], equal_nan=True
        )
    other = log_steps(MPE, 1, seed=2)
    assert not np.array_equal(other.values["Prey"]["x"][0, :2], mpe.values["Prey"]["x"][0, :2])


def test_every_field_can_be_changed() -> None:
    pytest.importorskip("mpe2")
    env = make_mpe(SMALL)
    env.reset(seed=0)
    entity = entities(env)["Prey", 1]
    assert entity.name == "agent_1"
    before = MPE.read(env)["Prey"][1]
    for f, now in before.items():
        change(entity, f, now + 0.5)
        assert MPE.read(env)["Prey"][1] == {**before, f: now + 0.5}
        change(entity, f, now)
    assert value_of(entity, "vy") == 0.0


def test_a_copy_goes_on_alike_and_alone() -> None:
    pytest.importorskip("mpe2")
    env, rng = make_mpe(SMALL), np.random.default_rng(0)
    seen, _ = env.reset(seed=3)
    for _ in range(5):
        seen, *_ = env.step(roam(seen, rng))
    before, twin, action = MPE.values(env), copy_mpe(env), roam(seen, rng)
    twin.step(action)
    assert MPE.values(env) == before
    env.step(action)
    assert MPE.values(env) == MPE.values(twin) != before


def test_actions_go_there_and_back() -> None:
    action = {"adversary_0": 3, "adversary_1": 0, "agent_0": 4}
    assert read_action(action)["Predator"] == {0: {"move": 3}, 1: {"move": 0}}
    assert to_action(read_action(action)) == action


def test_agents_make_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mpe2")
    monkeypatch.setattr("oocdm.bench.simulators.mpe.MEETING", 1.0)
    env, rng = make_mpe({"Predator": 1, "Prey": 2, "Landmark": 1}), np.random.default_rng(0)
    env.reset(seed=0)
    places = {("Predator", 0): (0, 0), ("Prey", 0): (-1, 0), ("Prey", 1): (-2, 0)}
    for name, place in {**places, ("Landmark", 0): (-3, 0)}.items():
        for f, at in zip(("x", "y"), place, strict=True):
            change(entities(env)[name], f, at)
    observation = {agent: env.unwrapped.observe(agent) for agent in env.agents}
    moves = [roam(observation, rng) for _ in range(50)]
    assert {move["adversary_0"] for move in moves} == {1}
    assert {move["agent_0"] for move in moves} == {1, 2}


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpe2", None)
    with pytest.raises(OocdmError, match="expected the package mpe2, which is not installed"):
        make_mpe()
