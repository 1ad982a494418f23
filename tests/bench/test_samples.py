"""The benchmark of needed data, on very small datasets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oocdm.bench import samples
from oocdm.errors import OocdmError
from oocdm.methods import Schedule
from oocdm.report.samples_picture import save_samples


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "SIZES", {"block2": ((200, 400), (0,))})
    quick = Schedule(iterations=1, steps_per_iteration=2, batch_size=64)
    monkeypatch.setattr(samples, "Schedule", lambda: quick)


def test_each_size_is_fitted_once(small: None, tmp_path: Path) -> None:
    told = []
    first = samples.run_samples(None, tmp_path, lambda name, state: told.append(name))
    assert [row["transitions"] for row in first["rows"]] == [200, 400]
    for row in first["rows"]:
        assert set(row["wrong"]) == {"automatic", "0.03", "0.1", "0.3"}
        assert all(0 <= wrong <= row["possible"] == 68 for wrong in row["wrong"].values())
    assert set(told) == {"block2, 200 transitions, seed 0", "block2, 400 transitions, seed 0"}
    told.clear()
    again = samples.run_samples(None, tmp_path, lambda name, state: told.append(name))
    assert not told and json.dumps(again) == json.dumps(first)
    save_samples(tmp_path / "samples.png", first["rows"])
    assert (tmp_path / "samples.png").read_bytes().startswith(b"\x89PNG")


def test_an_environment_without_sizes_is_an_error(small: None) -> None:
    with pytest.raises(OocdmError, match="no sizes for `block3`"):
        samples.run_samples(["block3"])
