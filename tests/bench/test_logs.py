"""Fits of logs of other people's simulators."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import oocdm
from oocdm.bench import logs
from oocdm.bench.highway_reads import common_edges, read_places
from oocdm.data.dataset import Dataset
from oocdm.errors import OocdmError

QUICK = oocdm.Schedule(iterations=1, steps_per_iteration=3, polish_steps=2, batch_size=64)


def test_fits_are_compared_with_the_code_once(
    highway: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "log_highway", lambda steps, seed: highway)
    monkeypatch.setattr(logs, "fit", partial(oocdm.fit, schedule=QUICK))
    monkeypatch.setattr(logs, "CASES", 2)
    first = logs.run_logs("highway", [0, 1], tmp_path)["cells"]
    for cell in first:
        graph = set(cell["graph"])
        assert set(cell["missed"]) == set(common_edges()) - graph
        assert cell["common"] == len(common_edges())
        assert set(cell["unlisted"]) == graph - set(read_places())
        assert "Car.speed" in cell["rollouts"] and cell["brakes"]["cases"] == 2
        assert 0 <= cell["jaccard"] <= 1

    def never(env: str, seed: int) -> dict[str, Any]:
        raise AssertionError("a finished fit is read, not run again")

    monkeypatch.setattr(logs, "_run_fit", never)
    assert json.dumps(logs.run_logs("highway", [0, 1], tmp_path)["cells"]) == json.dumps(first)
    assert logs.run_logs("highway", [1], tmp_path)["cells"][0]["jaccard"] is None


def test_unknown_simulators_are_told() -> None:
    with pytest.raises(OocdmError, match=r"no simulator `highwy`\. Did you mean `highway`"):
        logs.run_logs("highwy", [0])
