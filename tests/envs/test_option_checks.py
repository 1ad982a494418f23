"""Options of worlds, and what is said of wrong ones."""

from __future__ import annotations

import re

import numpy as np
import pytest

from oocdm.envs.option_checks import check_choice, check_count, check_range, check_scale
from oocdm.errors import OocdmError


def fails(message):
    return pytest.raises(OocdmError, match=f"^{re.escape(message)}$")


def test_what_is_allowed():
    assert check_choice("variant", "paper", {"paper": 7}) == 7
    assert (check_count("num", 0), check_count("num", np.int64(3), low=3)) == (0, 3)
    assert check_range("num", 4) == check_range("num", [4, 4]) == (4, 4)
    assert (check_scale("noise", 0), check_scale("noise", 2.5)) == (0.0, 2.5)
    assert check_scale("noise", np.float32(0.5)) == 0.5
    assert type(check_scale("noise", 0)) is float


def test_what_is_not():
    with fails("Option `variant`: unknown value 'papr'. Did you mean `paper`? Known: paper."):
        check_choice("variant", "papr", {"paper": 7})
    most = "and of at most 1000000"
    with fails(f"Option `num`: expected a whole number of at least 1 {most}, got 0."):
        check_count("num", 0, low=1)
    with fails("Option `num`: expected (low, high) with low <= high, got (2, 1)."):
        check_range("num", (2, 1))
    with fails(f"Option `num`: expected a whole number of at least 0 {most}, got (1, 2, 3)."):
        check_range("num", (1, 2, 3))


@pytest.mark.parametrize("value", [-0.1, np.inf, np.nan, "1", None, True])
def test_what_is_no_scale(value):
    is_wild = isinstance(value, float) and not np.isfinite(value)
    what = f"a {'finite ' * is_wild}number of at least 0"
    with fails(f"Option `noise`: expected {what}, got {value!r}."):
        check_scale("noise", value)
