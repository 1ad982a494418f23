"""Values in words."""

from __future__ import annotations

import pytest

from oocdm.inference.words import both_in_words, in_words
from oocdm.schema import Boolean, Categorical, Field, Integer, Real


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        (Real(), 0.123456, "0.1235"),
        (Real(shape=(2,)), [1.0, 2.5], "(1, 2.5)"),
        (Integer(0, 9), 7, "7"),
        (Categorical(["north", "south"]), 0, "north"),
        (Categorical(2), 0, "0"),
        (Boolean(), 0, "False"),
    ],
)
def test_values_are_written_as_people_do(field: Field, value: object, words: str) -> None:
    assert in_words(field, value) == words


def test_what_differs_is_written_differently() -> None:
    assert both_in_words(Real(), 2.0, 3.0) == ("2", "3")
    one, other = both_in_words(Real(), 1.0, 1.0 + 2**-52)  # the next number
    assert one != other and float(other) == 1.0 + 2**-52
    assert both_in_words(Real(), 1.0, 1.0) == ("1", "1")
