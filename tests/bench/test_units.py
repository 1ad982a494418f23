"""The benchmark of units, on very small fits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oocdm.bench import units
from oocdm.bench.units import compare_cells, exponents_of, in_units, run_units
from oocdm.errors import OocdmError
from oocdm.methods import Schedule
from oocdm.worlds import collect
from tests.worlds.balls import Balls

QUICK = Schedule(iterations=1, steps_per_iteration=3, polish_steps=2)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    world = replace(units.WORLDS["block2"], steps=200, schedule=QUICK)
    monkeypatch.setitem(units.WORLDS, "block2", world)
    monkeypatch.setattr(units, "TEST_STEPS", 100)


def test_every_real_field_and_its_bounds_are_scaled() -> None:
    data = collect(Balls(), 60, seed=0)
    exponents = exponents_of(data.schema, "mixed")
    assert exponents == {"x": -27, "v": -10, "mass": 10, "push": 27, "hits": -27}
    other = in_units(data, exponents)
    for c, fields in data.values.items():
        for f, values in fields.items():
            factor = 2.0 ** exponents.get(f, 0)
            np.testing.assert_array_equal(other.values[c][f], factor * values)
    push = other.schema.field("Ball", "push")
    assert (push.low, push.high) == (-(2.0**27), 2.0**27)


def test_cells_are_compared_with_those_in_their_own_units(small: None, tmp_path: Path) -> None:
    (row,) = run_units(["block2"], ["mixed"], tmp_path)["rows"]
    assert row["is_same"] and not row["different_edges"] and row["difference"] < 1e-6
    assert row["command"] == "oocdm bench units --env block2 --unit mixed"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "block2-2^0.json",
        "block2-mixed.json",
    ]


def test_what_is_there_is_read(small: None, tmp_path: Path) -> None:
    cell = {"decisions": {"a": "yes", "b": "no"}, "relative_errors": {"x": 0.5}, "units": "2^10"}
    other = {**cell, "decisions": {"a": "no", "b": "undecided"}}
    (tmp_path / "block2-2^0.json").write_text(json.dumps(cell))
    (tmp_path / "block2-2^10.json").write_text(json.dumps(other))
    (row,) = run_units(["block2"], ["2^10"], tmp_path)["rows"]
    assert row["different_edges"] == {"a": ["yes", "no"]} and not row["is_same"]
    assert row["different_words"] == {"a": ["yes", "no"], "b": ["no", "undecided"]}


def test_errors_may_differ_by_a_hundredth() -> None:
    one, near, far = (
        {"decisions": {}, "relative_errors": {"x": error, "y": 0.0}} for error in (1, 0.991, 0.98)
    )
    assert compare_cells(one, near)["is_same"] and not compare_cells(one, far)["is_same"]


@pytest.mark.parametrize(("worlds", "given"), [(["block3"], None), (["block2"], ["2^9"])])
def test_unknown_names(worlds: list[str], given: list[str] | None) -> None:
    with pytest.raises(OocdmError, match=r"bench units: unknown `(block3|2\^9)`\. Did you mean"):
        run_units(worlds, given)
