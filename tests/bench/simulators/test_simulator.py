"""The record of a simulator."""

from __future__ import annotations

import pytest

from oocdm.bench.simulators.mpe import MPE
from oocdm.bench.simulators.simulator import log_steps
from oocdm.graph import Variable


def test_read_and_values_are_all_but_the_actions() -> None:
    pytest.importorskip("mpe2", reason="comes with the extra oocdm[logs]")
    env = MPE.make({"Predator": 2, "Prey": 1, "Landmark": 1})
    env.reset(seed=0)
    objects = MPE.read(env)
    assert {c: len(each) for c, each in objects.items()} == {
        "Predator": 2,
        "Prey": 1,
        "Landmark": 1,
    }
    assert set(objects["Predator"][1]) == {"x", "y", "vx", "vy"}
    assert MPE.states("Landmark") == ["x", "y"]
    values = MPE.values(env)
    assert len(values) == 14
    assert values[Variable("Prey", 0, "x")] == objects["Prey"][0]["x"]


def test_progress_is_told() -> None:
    pytest.importorskip("mpe2", reason="comes with the extra oocdm[logs]")
    seen: list[tuple[int, int]] = []
    assert len(log_steps(MPE, 5, 0, lambda *done: seen.append(done))) == 5
    assert seen == [(i, 5) for i in range(1, 6)]
