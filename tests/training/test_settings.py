"""What a run was begun with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from oocdm.errors import ModelError
from oocdm.files import Contents
from oocdm.training.settings import CONFIG, FORMAT, Settings, check_as_before, differences

SOME = Settings(method={"name": "oocdm", "schedule": {"iterations": 3}}, seed=1, priors=["a"])


def write(folder: Path, data: Any) -> Contents:
    (folder / CONFIG).write_text(json.dumps(data))
    return Contents.of(folder, ModelError)


def test_round_trip(tmp_path: Path) -> None:
    contents = write(tmp_path, SOME.to_json())
    assert Settings.read(contents) == SOME
    assert SOME.format == FORMAT == 5


@pytest.mark.parametrize("number", [FORMAT - 1, FORMAT + 1, str(FORMAT), float(FORMAT), None, True])
def test_another_format_is_told_before_anything_else(number: Any, tmp_path: Path) -> None:
    contents = write(tmp_path, {"format": number, "anything": 1})
    with pytest.raises(
        ModelError, match=f"expected a run of format 5, got {re.escape(repr(number))}:"
    ):
        Settings.read(contents)
    with pytest.raises(ModelError, match="expected a run of format 5, got None"):
        Settings.read(write(tmp_path, [number]))


def test_settings_bind_but_notes_and_places_do_not(tmp_path: Path) -> None:
    contents = write(tmp_path, {**SOME.to_json(), "notes": {"a": 1}, "data": "elsewhere"})
    path = tmp_path / CONFIG
    check_as_before(SOME.binding, Settings.read(contents).binding, path)
    changed = {**SOME.to_json(), "seed": 2, "method": {"name": "oocdm", "schedule": {}}}
    settings = Settings.read(write(tmp_path, changed))
    message = (
        f"{tmp_path / CONFIG}: expected the settings that the run was begun with, but "
        "`method.schedule.iterations` was 3 and is None, and `seed` was 1 and is 2. Put them back, "
        "or fit anew with the new ones."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        check_as_before(SOME.binding, settings.binding, path)


def test_differences_find_what_is_new_and_what_is_gone() -> None:
    assert list(differences({"a": 1, "b": {"c": 2}}, {"a": 1, "d": 3, "b": 4})) == [
        "`b` was {'c': 2} and is 4",
        "`d` was None and is 3",
    ]
