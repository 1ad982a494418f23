"""Online against offline, with everything small."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from oocdm import OocdmError
from oocdm.bench import online
from oocdm.methods import Schedule
from oocdm.planning import CEM


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = Schedule(iterations=1, steps_per_iteration=2, polish_steps=2, copies=0)
    for name in ("fit", "learn_online"):
        monkeypatch.setattr(online, name, partial(getattr(online, name), schedule=quick))
    few = {"STEPS": 80, "EPISODES": 2, "MAX_STEPS": 3, "TEST_STEPS": 20}
    for name, value in few.items():
        monkeypatch.setattr(online, name, value)
    monkeypatch.setattr(online, "PLANNER", CEM(horizon=2, iterations=1, samples=4, elites=2))


@pytest.mark.usefixtures("small")
def test_both_ways_of_learning_are_judged_alike(tmp_path: Path) -> None:
    told: list[str] = []

    def tell(what: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        told.append(what)

    answer: dict[str, Any] = online.run_online(tmp_path, tell, seeds=[0])
    (cell,) = answer["cells"]
    assert [row["transitions"] for row in cell["history"]["rounds"]] == [10, 20, 40, 80]
    for way in ("online", "offline"):
        assert len(cell[way]["returns"]) == 2 and max(cell[way]["lengths"]) <= 3
    pairs = zip(cell["online"]["returns"], cell["offline"]["returns"], strict=True)
    assert cell["difference"] == pytest.approx(sum(a - b for a, b in pairs) / 2)
    assert {"mouse, seed 0: collecting", "mouse, seed 0: acting, offline"} <= set(told)
    assert online.run_online(tmp_path, None, seeds=[0]) == answer


def test_worlds_without_a_reward_are_refused() -> None:
    with pytest.raises(OocdmError, match=r"`block2` has no reward to plan for\. Choose mouse"):
        online.run_online(None, None, env="block2")
