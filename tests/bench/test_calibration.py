"""The calibration benchmark: cells that are compared with the truth, and resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oocdm.bench import calibration
from oocdm.envs.generated.families import FAMILIES
from oocdm.errors import OocdmError
from oocdm.methods import Schedule

QUICK = Schedule(iterations=1, steps_per_iteration=3, polish_steps=2, batch_size=64)


def test_worlds_are_fitted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "SCHEDULE", QUICK)
    monkeypatch.setattr(calibration, "STEPS", 600)
    monkeypatch.setattr(calibration, "TEST_STEPS", 200)
    families = ["mixed", "jumps"]
    first = calibration.run_calibration(families, [10_000], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "jumps-10000.json",
        "mixed-10000.json",
    ]
    assert list(first["summary"]) == ["mixed", "jumps", "all"]
    for world, family in zip(first["worlds"], families, strict=True):
        check_world(world, family)

    def never(family: str, seed: int) -> dict[str, Any]:
        raise AssertionError("a finished world is read, not run again")

    monkeypatch.setattr(calibration, "_run_world", never)
    again = calibration.run_calibration(families, [10_000], tmp_path)
    assert json.dumps(again) == json.dumps(first)


def check_world(world: dict[str, Any], family: str) -> None:
    assert world["family"] == family and world["world_seed"] == 10_000
    true = [edge for edge in world["edges"] if edge["is_true"]]
    assert 0 < len(true) < len(world["edges"])
    assert all(edge["worth"] >= 0 and edge["worth_error"] >= 0 for edge in true)
    assert all("worth" not in edge for edge in world["edges"] if not edge["is_true"])
    assert {"score", "p_value", "decision"} <= set(true[0])
    found = {edge["edge"] for edge in world["edges"] if edge["is_found"]}
    assert all((edge["decision"] == "yes") == (edge["edge"] in found) for edge in world["edges"])
    for place in ("id", "ood"):
        fields = world["fields"][place]
        assert list(fields) == [line.split("'")[0] for line in world["mechanisms"]]
        # After a few steps nothing is near the truth.
        assert all(field["nats_below"] > 0 for field in fields.values())
    assert world["command"] == f"oocdm bench calibration --family {family} --seeds 10000"
    assert world["schedule"]["steps_per_iteration"] == 3
    assert world["processor_seconds"] > 0 and world["settled"] is False


def test_every_family_can_be_judged() -> None:
    assert ("mixed", *FAMILIES) == calibration.ALL_FAMILIES
    assert set(calibration.SCHEDULES) <= set(calibration.ALL_FAMILIES)


def test_an_unknown_family_is_told_at_once() -> None:
    with pytest.raises(OocdmError) as error:
        calibration.run_calibration(["mixed", "force"], [10_000])
    assert str(error.value).startswith(
        "bench calibration: no family `force`. Did you mean `forces`? Known: mixed, neighbours,"
    )
