"""Fits of large worlds."""

from __future__ import annotations

from pathlib import Path

import pytest

from oocdm.bench import memory
from oocdm.errors import OocdmError
from oocdm.schema import Categorical, Real


def test_a_fit_is_measured_against_its_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(memory.WORLDS, "small", ({"word": Categorical(7), "x": Real()}, 2))
    found = memory.measure_fit("small")
    assert found["objects"] == 2 and found["transitions"] == 50 * 19
    assert found["estimate"] > max(found["phases"].values()) and found["seconds"] > 0


def test_worlds_are_as_large_as_they_say() -> None:
    data = memory.make_data("objects", episodes=2, steps=3)
    assert len(data) == 4 and data.max_counts == {"Thing": 1000}
    assert len(memory.make_data("fields", 2, 3).schema.targets("Thing")) == 100
    assert memory.make_data("categories", 2, 3).schema.field("Thing", "word").num_codes == 5000


def test_an_unknown_world_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(OocdmError, match=r"unknown world `field`\. Did you mean `fields`"):
        memory.run_memory(["field"], tmp_path)
