"""Values as people give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oocdm.data.values import read_value
from oocdm.errors import ModelError, PlanError
from oocdm.schema import Boolean, Categorical, Field, Integer, Real

MOVES = Categorical(["north", "south"])


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (Real(0.0, 1.0), 1, np.float32(1)),
        (Real(shape=(2,)), [1.5, 2], np.array([1.5, 2], np.float32)),
        (Integer(0, 7, shape=(2,)), (3, 7.0), np.array([3, 7])),
        (MOVES, "south", np.int64(1)),
        (MOVES, 0, np.int64(0)),
        (Boolean(), True, np.int64(1)),
        # What a field shows, it also takes: the nearest float32 lies above 0.3.
        (Real(0.0, 0.3), float(np.float32(0.3)), np.float32(0.3)),
        (Real(0.7), float(np.float32(0.7)), np.float32(0.7)),
    ],
)
def test_values(field: Field, value: Any, expected: Any) -> None:
    read = read_value("do", field, value, PlanError)
    np.testing.assert_array_equal(read, expected, strict=False)
    assert (read.shape, read.dtype) == (field.shape, np.dtype(field.dtype))


ALLOWS = " The schema declares what the field allows."


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (Real(0.0, 1.0), 2, f"expected a finite number from 0.0 to 1.0, got 2.{ALLOWS}"),
        (Real(), float("nan"), f"expected a finite number, got nan.{ALLOWS}"),
        (Real(), 1e39, f"expected a finite number, got 1e+39.{ALLOWS}"),
        (Integer(low=1), 1.5, f"expected a whole number of at least 1, got 1.5.{ALLOWS}"),
        (Integer(2, 5), 1, f"expected a whole number from 2 to 5, got 1.{ALLOWS}"),
        (
            Real(high=3.0, shape=(2,)),
            [1, 4],
            f"expected 2 finite numbers of at most 3.0, got [1, 4].{ALLOWS}",
        ),
        (Real(shape=(2,)), 1.0, "expected a value of shape (2,), got 1.0."),
        (Real(), [1.0], "expected a value of shape (), got [1.0]."),
        (Real(), {}, "expected a finite number, got {}. Give it as the field is logged."),
        (Real(), 1j, "expected a finite number, got 1j. Give it as the field is logged."),
        (
            Real(),
            np.timedelta64(1, "D"),
            "expected a finite number, got datetime.timedelta(days=1). Give it as the field is "
            "logged.",
        ),
        (
            Real(),
            10**400,
            "expected a finite number, got a whole number of about 401 digits. Give it as the "
            "field is logged.",
        ),
        (Real(), "much", "expected a finite number, got 'much'. It has no named values."),
        (
            MOVES,
            "nort",
            "unknown value 'nort'. Did you mean `north`? Known: north, south.",
        ),
    ],
)
@pytest.mark.parametrize("error", [PlanError, ModelError])
def test_what_a_field_does_not_allow(
    field: Field, value: Any, message: str, error: type[PlanError]
) -> None:
    with pytest.raises(error) as caught:
        read_value("do `Ant[0].x`", field, value, error)
    assert str(caught.value) == f"do `Ant[0].x`: {message}"
