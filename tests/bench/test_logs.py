"""Fits of logs of other people's simulators."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import oocdm
from oocdm.bench import logs
from oocdm.data.dataset import Dataset
from oocdm.errors import OocdmError

QUICK = oocdm.Schedule(iterations=1, steps_per_iteration=3, polish_steps=2, batch_size=64)


@pytest.mark.parametrize(("env", "field"), [("highway", "Car.speed"), ("mpe", "Prey.vx")])
def test_fits_are_compared_with_the_code_once(
    env: str,
    field: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data: Dataset = request.getfixturevalue(env)
    monkeypatch.setattr(logs, "log_steps", lambda simulator, steps, seed: data)
    monkeypatch.setattr(logs, "fit", partial(oocdm.fit, schedule=QUICK))
    monkeypatch.setattr(logs, "CASES", 2)
    first = logs.run_logs(env, [0, 1], tmp_path)["cells"]
    simulator = logs.SIMULATORS[env]
    for cell in first:
        graph = set(cell["graph"])
        assert cell["package"] == f"{simulator.package} {simulator.version}"
        assert set(cell["missed"]) == set(simulator.common()) - graph
        assert cell["common"] == len(simulator.common())
        assert set(cell["unlisted"]) == graph - set(simulator.places())
        assert field in cell["rollouts"] and cell["slowed"]["cases"] == 2
        assert 0 <= cell["jaccard"] <= 1

    def never(env: str, seed: int) -> dict[str, Any]:
        raise AssertionError("a finished fit is read, not run again")

    monkeypatch.setattr(logs, "_run_fit", never)
    assert json.dumps(logs.run_logs(env, [0, 1], tmp_path)["cells"]) == json.dumps(first)
    assert logs.run_logs(env, [1], tmp_path)["cells"][0]["jaccard"] is None


def test_only_fits_of_one_simulator_agree() -> None:
    cells = [{"env": env, "graph": graph} for env, graph in (("a", "xy"), ("b", "z"), ("a", "x"))]
    assert [cell["jaccard"] for cell in logs.with_agreement(cells)] == [0.5, None, 0.5]


def test_unknown_simulators_are_told() -> None:
    with pytest.raises(OocdmError, match=r"no simulator `highwy`\. Did you mean `highway`"):
        logs.run_logs("highwy", [0])
