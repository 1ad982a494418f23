"""Digits that are too few for what changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from oocdm import (
    Dataset,
    Integer,
    ObjectClass,
    Real,
    Schema,
    fit,
)
from oocdm.training.precision import warn_of_rounding


@pytest.mark.parametrize(
    ("offset", "is_said"), [(0, False), (1_000, False), (5_400_000, True), (1_700_000_000, True)]
)
def test_values_too_large_for_their_changes_are_told(
    offset: int, is_said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    class Car(ObjectClass):
        x = Real()
        clock = Integer()

    steps = np.arange(20)
    frame = pd.DataFrame({"episode": steps // 10, "step": steps, "object": 0})
    frame["x"], frame["clock"] = 0.5 * steps + offset, steps + offset
    data = Dataset.from_frames({"Car": frame}, Schema(Car))
    fit(data, "oofull", schedule={"iterations": 1, "steps_per_iteration": 1, "polish_steps": 0})
    assert ("Field `Car.x`: values " in caplog.text) == is_said
    assert ("Field `Car.clock`: values up to" in caplog.text) == is_said
    assert ("Subtract a number near them from the column." in caplog.text) == is_said


def walk(x: np.ndarray) -> Dataset:
    """One car; values that are not finite are missing."""

    class Car(ObjectClass):
        x = Real()

    steps = np.arange(len(x))
    frame = pd.DataFrame({"episode": 0, "step": steps, "object": 0, "x": x})
    return Dataset.from_frames({"Car": frame.convert_dtypes()}, Schema(Car))


@pytest.mark.parametrize(
    ("change", "is_said"), [(1e-3, True), (0.1, True), (30.0, False), (0.0, False)]
)
def test_what_counts_is_the_usual_change(
    change: float, is_said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """At ten millions numbers are a whole one apart; what never changes is not spoiled."""
    warn_of_rounding(walk(1e7 + change * np.arange(30)).transitions())
    assert bool(caplog.text) == is_said


def test_what_is_unknown_is_not_judged(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_rounding(walk(np.array([0.0, None, 1.0, None, 0.0, 1.0])).transitions())
    assert not caplog.text
