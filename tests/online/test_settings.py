"""What online learning was begun with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from oocdm import ICEM, ModelError
from oocdm.online.settings import OnlineSettings, planner_to_json

SETTINGS = OnlineSettings(
    **{"world": "Carts", "schema": {}, "task": ["Cart.x"], "amounts": {"steps": 9}},
    **{"planner": planner_to_json(ICEM(horizon=3)), "method": {"name": "oocdm"}, "between": None},
    **{"seed": 0, "graph": None, "priors": [], "memory": 1, "threads": 1},
)


def test_they_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "online.json"
    path.write_text(json.dumps(SETTINGS.to_json()))
    assert OnlineSettings.read(path) == SETTINGS
    path.write_text(json.dumps({**SETTINGS.to_json(), "format": 2}))
    with pytest.raises(ModelError, match="expected online learning of format 1, got 2"):
        OnlineSettings.read(path)
    path.write_text(json.dumps({**SETTINGS.to_json(), "seed": -1}))
    with pytest.raises(ModelError, match=r"online\.json: `seed`: expected"):
        OnlineSettings.read(path)


def test_only_threads_and_notes_may_change() -> None:
    other = replace(SETTINGS, threads=2, notes={"env": "mouse"})
    other.check_same(SETTINGS, Path("runs"))
    with pytest.raises(
        ModelError, match=r"runs holds .* otherwise: `amounts\.steps` was 9 and is 8"
    ):
        replace(SETTINGS, amounts={"steps": 8}).check_same(SETTINGS, Path("runs"))
