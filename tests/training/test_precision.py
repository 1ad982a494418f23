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
    Schedule,
    Schema,
    evaluate,
    fit,
)
from oocdm.errors import DataError
from oocdm.training.precision import check_numbers, warn_of_rounding


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


def walk(x: np.ndarray, length: int = 1000) -> Dataset:
    """One car, in episodes of some length; values that are not finite are missing."""

    class Car(ObjectClass):
        x = Real()

    steps = np.arange(len(x))
    frame = pd.DataFrame({"episode": steps // length, "step": steps % length, "object": 0, "x": x})
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


def heavy(tails: float, seed: int = 0) -> Dataset:
    """Cars that stand where they like, by a law with the tails of a power of Cauchy's."""
    noise = np.random.default_rng(seed).standard_cauchy(500)
    return walk(np.sign(noise) * np.abs(noise) ** tails)


def test_extreme_changes_are_told_with_their_values(caplog: pytest.LogCaptureFixture) -> None:
    data = heavy(5.0)
    check_numbers(data, np.arange(len(data)))
    x = data.values["Car"]["x"][:, 0].astype(float)
    last = int(np.abs(np.diff(x)).argmax()) + 1
    assert (
        f"times as large as usual: from {x[last - 1]:.3g} to {x[last]:.3g} at episode 0, step "
        f"{last}, object 0; from "
    ) in caplog.text
    assert "Field `Car.x`: " in caplog.text and "changes are more than 10000 times" in caplog.text


@pytest.mark.parametrize("size", [2.0**-27, 1.0, 2.0**27])
def test_one_extreme_value_is_told_in_any_unit(
    size: float, caplog: pytest.LogCaptureFixture
) -> None:
    x = size * np.random.default_rng(0).normal(size=300)
    data = walk(x)
    check_numbers(data, np.arange(len(data)))
    assert not caplog.text
    x[40] = 1e6 * size
    data = walk(x)
    check_numbers(data, np.arange(len(data)))
    assert "Field `Car.x`: 2 changes are more than 10000 times as large as usual" in caplog.text


def test_rare_changes_are_not_extreme(caplog: pytest.LogCaptureFixture) -> None:
    """What mostly rests is judged by the changes that there are, also if all of them are alike."""
    data = walk(np.cumsum(np.arange(300) % 10 == 0).astype(float))
    check_numbers(data, np.arange(len(data)))
    assert not caplog.text


def test_what_starts_again_now_and_then_is_not_extreme(caplog: pytest.LogCaptureFixture) -> None:
    """A timer's steps are alike to the last digits, and its starts a million times as large."""
    x = np.arange(300) % 10 + 1e-7 * np.random.default_rng(0).normal(size=300)
    data = walk(x)
    check_numbers(data, np.arange(len(data)))
    assert not caplog.text
    x[42] = 1e9
    data = walk(x)
    check_numbers(data, np.arange(len(data)))
    assert "to 1e+09 at episode 0, step 42" in caplog.text


def test_changes_whose_squares_single_precision_has_not_are_refused() -> None:
    data = walk(1e-15 * np.random.default_rng(0).normal(size=300), length=10)
    both = data.transitions()
    spread = float((both.after["Car.x"].double() - both.before["Car.x"].double()).std())
    with pytest.raises(DataError) as error:
        fit(data, schedule={"iterations": 1, "steps_per_iteration": 1})
    assert str(error.value) == (
        f"Field `Car.x`: expected changes with a spread of at least 1e-12, got {spread:.2g}. "
        f"Choose another unit: multiply the column by {1 / spread:.0e} or so."
    )


@pytest.mark.parametrize("size", [1e-11, 1e17])
def test_the_smallest_and_largest_changes_can_be_learned(size: float) -> None:
    data = walk(size * np.random.default_rng(0).normal(size=300), length=10)
    result = fit(data, schedule=Schedule(iterations=2, steps_per_iteration=20, polish_steps=20))
    errors = evaluate(result, data).fields["Car.x"]
    assert errors.rmse == pytest.approx(size, rel=0.5)
    assert errors.coverage == pytest.approx(0.9, abs=0.1)


@pytest.mark.parametrize("value", [1e8, 1e17])
def test_an_extreme_value_among_those_held_out_is_no_reason_to_fail(value: float) -> None:
    """Networks see it far beyond what they know: scores of it may be infinitely bad."""

    class Car(ObjectClass):
        x = Real()
        y = Real()

    steps = np.arange(200)
    frame = pd.DataFrame({"episode": steps // 10, "step": steps % 10, "object": 0})
    frame["x"], frame["y"] = np.random.default_rng(0).normal(size=(2, 200))
    data = Dataset.from_frames({"Car": frame}, Schema(Car))
    schedule = Schedule(iterations=1, steps_per_iteration=3, polish_steps=2)
    held_out = data.split(schedule.held_out, 0)[1].episode_ids[0]
    frame.loc[(frame.episode == held_out) & (frame.step == 5), "x"] = value
    result = fit(Dataset.from_frames({"Car": frame}, Schema(Car)), seed=0, schedule=schedule)
    assert np.isfinite(result.evidence.p_value).sum() == 4  # all that can be tested
    floors = result.model.heads["Car"].calibrated_sigma
    assert floors.isfinite().all() and (floors > 0).all()
