"""What fits of generated worlds say together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pytest import approx

from oocdm.bench.calibration_summary import (
    mean_interval,
    share_interval,
    summarise,
    summarise_families,
)
from oocdm.errors import OocdmError


def edge(is_true: bool, is_found: bool, worth: float = 0.0) -> dict[str, Any]:
    return {"is_true": is_true, "is_found": is_found, **({"worth": worth} if is_true else {})}


def field(nats_below: float | None, coverage: float | None) -> dict[str, Any]:
    return {"nats_below": nats_below, "coverage": coverage}


def world(*edges: dict[str, Any], family: str = "forces", **others: Any) -> dict[str, Any]:
    fields = {"id": {"A.x": field(0.01, 0.9)}, "ood": {"A.x": field(0.3, None)}}
    row = {"family": family, "edges": edges, "fields": fields, "processor_seconds": 50.0}
    return {**row, "settled": None, **others}


EXACT = world(edge(True, True, 0.5), edge(True, False, 0.008), edge(False, False))
FALSE = world(edge(True, True, 0.01), edge(True, True, 0.02), edge(False, True))
MISSED = world(edge(True, False, 0.03), edge(True, True, 0.001), family="weak")


def test_wrong_is_a_mean_over_worlds_and_power_is_one_over_edges() -> None:
    found = summarise([EXACT, FALSE, MISSED])
    assert (found["worlds"], found["wrong"], found["found"]) == (3, 1, 5)
    assert found["wrong_share"] == approx(1 / 9)
    assert found["wrong_interval"] == approx([0, 1 / 9 + 4.302653 / 9], rel=1e-5)
    strong, weaker = found["power"]
    assert (strong["edges"], strong["found"], strong["low"], strong["high"]) == (3, 2, 0.02, None)
    assert (weaker["edges"], weaker["found"], weaker["high"]) == (2, 1, 0.02)
    assert strong["interval"] == share_interval(2, 3)
    assert sum(level["edges"] for level in found["curve"]) == 6
    assert found["exact"] == approx(1 / 3)  # what is worth little may be missed
    assert found["strong_found"] == approx(2 / 3)


def test_nats_and_coverage_are_those_of_fields() -> None:
    many = {f"A.x{i}": field(i / 100, 0.8 + i / 100) for i in range(10)}
    none = {"A.k": field(None, None)}  # a field whose score is no number
    found = summarise([world(fields={"id": many, "ood": {**many, **none}})])
    assert found["id"] == {"fields": 10, "median": 0.05, "tail": 0.09, "coverage": approx(0.845)}
    assert found["ood"]["fields"] == 11
    assert found["ood"]["tail"] is None  # infinite
    assert found["ood"]["coverage"] == approx(0.845)


def test_settled_is_known_of_some_worlds() -> None:
    assert summarise([EXACT])["settled"] is None
    told = [world(settled=True), world(settled=False), world(settled=True), EXACT]
    assert summarise(told)["settled"] == approx(2 / 3)


def test_families_stand_beside_all_together() -> None:
    found = summarise_families([EXACT, MISSED, FALSE])
    assert list(found) == ["forces", "weak", "all"]
    assert [row["worlds"] for row in found.values()] == [2, 1, 3]
    with pytest.raises(OocdmError, match="at least one family and one seed"):
        summarise_families([])


def test_intervals_know_how_little_is_known() -> None:
    assert mean_interval(np.array([0.0])) == [0.0, 1.0]
    assert share_interval(0, 0) == [0.0, 1.0]
    low, high = share_interval(100, 100)
    assert 0.96 < low < 0.97 and high == 1.0
