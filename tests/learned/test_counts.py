"""Numbers of objects of a learned world."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from oocdm.errors import PlanError
from oocdm.learned.counts import Counts
from tests.learned.toys import DATA

SCHEMA = DATA.schema
WHOLE = "expected a whole number of at least 0"
ADVICE = "Give how many objects there are, or a range (low, high)."


def test_numbers_and_ranges() -> None:
    counts = Counts.of(SCHEMA, {"Nest": 0, "Ant": (2, 4), "Rock": np.int64(3)})  # type: ignore[dict-item]
    assert counts.ranges == {"Ant": (2, 4), "Rock": (3, 3), "Nest": (0, 0)}
    assert counts.max_objects == {"Ant": 4, "Rock": 3, "Nest": 1}
    rng = np.random.default_rng(0)
    drawn = [counts.draw(rng) for _ in range(50)]
    assert {d["Ant"] for d in drawn} == {2, 3, 4}
    assert all((d["Rock"], d["Nest"]) == (3, 0) for d in drawn)


def test_fixed_numbers_need_no_chance() -> None:
    rng, untouched = np.random.default_rng(0), np.random.default_rng(0)
    Counts.of(SCHEMA, {"Ant": 2, "Rock": 3, "Nest": 0}).draw(rng)
    assert rng.random() == untouched.random()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Ant": -1}, f"counts: `Ant`: {WHOLE}, got -1. {ADVICE}"),
        ({"Ant": 1.5}, f"counts: `Ant`: {WHOLE} or a list of 2, got 1.5. {ADVICE}"),
        ({"Ant": True}, f"counts: `Ant`: {WHOLE} or a list of 2, got True. {ADVICE}"),
        ({"Ant": None}, f"counts: `Ant`: {WHOLE} or a list of 2, got None. {ADVICE}"),
        ({"Nest": (3, 2)}, "counts['Nest']: expected low <= high of a range, got (3, 2)."),
        ({"Nest": (1, 2, 3)}, f"counts: `Nest`: {WHOLE} or a list of 2, got (1, 2, 3). {ADVICE}"),
        (
            {"Nets": 1},
            "counts: unknown class `Nets`. Did you mean `Nest`? Known: Ant, Rock, Nest.",
        ),
    ],
)
def test_mistakes(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        Counts.of(SCHEMA, {"Ant": 1, "Rock": 1, "Nest": 1, **changes})


def test_every_class_is_named() -> None:
    message = (
        "counts: expected the number of objects of every class, got none of Rock, Nest. Give 0 for "
        "a class that the world shall not have."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        Counts.of(SCHEMA, {"Ant": 1})
