"""Limits that name themselves, and how they are raised."""

from __future__ import annotations

import re

import pytest

from oocdm.errors import DataError, FileError
from oocdm.files.limits import VARIABLE, check_limit


def test_a_limit_says_how_it_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    message = (
        "`a.json`: expected at most 50 levels of JSON, got 120. If that is right, and you trust "
        "the file, raise all limits: set the environment variable OOCDM_LIMITS=3."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        check_limit("a.json", "levels of JSON", 120, DataError)
    monkeypatch.setenv(VARIABLE, "3")
    check_limit("a.json", "levels of JSON", 120, DataError)
    with pytest.raises(DataError, match="expected at most 150 levels of JSON, got 151"):
        check_limit("a.json", "levels of JSON", 151, DataError)


@pytest.mark.parametrize("text", ["many", "0", "nan", "inf", ""])
def test_what_raises_no_limit(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(FileError, match=f"^OOCDM_LIMITS: expected a number from 1 on, .* '{text}'"):
        check_limit("a.json", "levels of JSON", 1, DataError)
