"""A few hundred mutations; `make fuzz` does as many as one likes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from oocdm.errors import OocdmError
from tests.fuzz.fuzzing import Hung, at_most, fuzz, outcome
from tests.fuzz.subjects import Subject, subjects


def test_damage_is_refused_or_told(tmp_path: Path) -> None:
    found = fuzz(210, seed=20_000, folder=tmp_path)
    assert not found["bad"], found["bad"][0]
    outcomes = found["outcomes"]
    assert set(outcomes) == {s.name for s in subjects(tmp_path / "originals")}
    # Damage does damage: most of it must be noticed.
    assert all(counts.get("refused", 0) >= 10 for counts in outcomes.values())


def use_of(kind: str) -> Subject:
    def use(path: Path) -> str:
        if kind == "refuses":
            raise OocdmError("Said in words.")
        if kind == "breaks":
            return str({}["missing"])
        while kind == "hangs":
            pass
        return "something else" if kind == "differs" else "the same"

    return Subject(kind, lambda path, rng: "", use, None)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("refuses", "refused"),
        ("breaks", "internal error"),
        ("hangs", "hung"),
        ("differs", "silently wrong"),
        ("is as it was", "as it was"),
    ],
)
def test_what_is_bad_is_called_so(
    kind: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.fuzzing.LONGEST", 1)
    assert outcome(use_of(kind), tmp_path, "the same")[0] == word


def test_what_takes_too_long_is_stopped() -> None:
    with pytest.raises(Hung), at_most(1):
        while True:
            random.random()
