"""Cells in the dtype of their field."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from oocdm.data import Dataset
from oocdm.data.column import Column, Keys, cast, not_whole
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema
from tests.data.mistakes import fails


@pytest.mark.parametrize(
    ("values", "is_said"),
    [
        ([0.1, 0.1, 0.1], False),  # always the same
        ([1e3, 1e3 + 0.5, 1e3 + 1], False),
        ([1.7e9, 1.7e9 + 0.5, 1.7e9 + 1], True),
        ([16_777_216, 16_777_217, 16_777_218], True),
    ],
)
def test_digits_that_are_lost_are_told(
    values: list[float], is_said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    class Car(ObjectClass):
        x = Real()

    frame = pd.DataFrame({"episode": 0, "step": range(3), "object": 0, "x": values})
    Dataset.from_frames({"Car": frame}, Schema(Car))
    assert ("Field `Car.x`: values such as" in caplog.text) == is_said


KEYS = Keys(np.zeros(3, int), np.arange(3), np.zeros(3, int), np.array([7]))
SECOND_AND_THIRD = np.array([False, True, True])


def cells_of(field, cells):
    """The second and third cell of a column, in the dtype of the field."""
    column = Column("Dot", "v", field, KEYS, np.ones(3, bool))
    return cast(column, SECOND_AND_THIRD, np.array(cells), "Not even as `{name}`.")


def test_cells_take_the_dtype_of_their_field():
    assert cells_of(Real(), [1, 2]).dtype == np.float32
    assert cells_of(Integer(), [1.0, 2.0]).dtype == np.int64
    assert cells_of(Boolean(), [True, False]).tolist() == [1, 0]


def test_errors_name_the_row_of_the_table():
    with fails(
        "Field `Dot.v`: expected a finite number, got NaN at episode 0, step 2, object 7. Not "
        "even as `v`."
    ):
        cells_of(Real(), [1.0, np.nan])
    with fails(
        "Field `Dot.v`: expected a whole number (int64), got 0.5 at episode 0, step 1, object 7."
    ):
        cells_of(Integer(), [0.5, 1.0])
    with fails(
        "Field `Dot.v`: expected one of the names a, b or a whole number, got a column of dtype "
        "<U1, with 'a' at episode 0, step 1, object 7. Convert it, or declare the field as what it "
        "holds."
    ):
        cells_of(Categorical(["a", "b"]), ["a", "b"])
    with fails("Field `Dot.v`: expected values of shape (2,), got ()."):
        cells_of(Real(shape=(2,)), [1.0, 2.0])


def test_what_is_not_whole():
    floats = np.array([0.0, -2.0, 0.5, np.inf, -np.inf, np.nan, 2.0**62, 2.0**63])
    assert not_whole(floats).tolist() == [False, False, True, True, True, True, False, True]
    assert not_whole(np.array([1, 2**63 - 1, 2**63], np.uint64)).tolist() == [False, False, True]
    assert not not_whole(np.array([True, False])).any()


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        (Real(), 1e300, "-1e+18 to 1e+18, got 1e+300"),
        (Real(), -np.inf, "-1e+18 to 1e+18, got -inf"),
        (Integer(), -(2**63), f"{-(2**53)} to {2**53}, got {-(2**63)}"),
        (Integer(), 2**53 + 1, f"{-(2**53)} to {2**53}, got {2**53 + 1}"),
    ],
)
def test_numbers_that_are_too_large_are_told_as_they_were_given(field, value, words):
    with fails(f"Field `Dot.v`: expected a number from {words} at episode 0, step 2, object 7."):
        cells_of(field, [0, value])
