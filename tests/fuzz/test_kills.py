"""A few kills; `make kill` does as many as one likes."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.kills import run_kills


def test_killed_commands_leave_nothing_behind(tmp_path: Path) -> None:
    found = run_kills(6, seed=300, folder=tmp_path)
    assert not found["bad"], found["bad"][0]
    assert found["count"] >= 6
