"""Ranges of numbers: what is in them, and how they are told."""

from __future__ import annotations

import math

import pytest

from oocdm.reading import Range


@pytest.mark.parametrize(
    ("allowed", "inside", "outside"),
    [
        (Range(), [0, -(2**63) + 1, 2**63 - 1, -1e300], [2**63, 10**400, math.nan, -math.inf]),
        (Range(at_least=1), [1, 2**63 - 1], [0, -1, 0.999, math.nan, 2**63]),
        (Range(above=0), [1e-300, 5], [0, 0.0, -1, math.inf]),
        (Range(at_least=0, at_most=1), [0, 1, 0.5], [-1e-9, 1.01]),
        (Range(above=0, below=1), [0.5], [0, 1]),
        (Range(at_most=2**128), [2**127, -(2**100)], [2**129]),
        (Range(is_finite=False), [math.nan, math.inf, -math.inf, 1.0], [2**63]),
        (Range(at_least=0, is_finite=False), [math.nan, math.inf], [-math.inf, -1]),
    ],
)
def test_what_is_in_a_range(allowed: Range, inside: list[float], outside: list[float]) -> None:
    assert [allowed.has(number) for number in inside] == [True] * len(inside)
    assert [allowed.has(number) for number in outside] == [False] * len(outside)


def test_words_name_the_ends() -> None:
    assert Range().words == ""
    assert Range(at_least=0, below=1).words == " of at least 0 and below 1"
    assert Range(above=0, at_most=4).words == " above 0 and of at most 4"
