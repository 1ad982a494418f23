"""Fits that several tests look at; polishing in rounds of three steps."""

from __future__ import annotations

import pytest

from oocdm import FitResult, fit
from oocdm.training import trainer
from tests.training.toys import DATA, METHODS


@pytest.fixture
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven steps of polishing are three rounds."""
    monkeypatch.setattr(trainer, "POLISH_ROUND", 3)


@pytest.fixture(scope="session")
def finished() -> dict[str, FitResult]:
    """Each method, trained without an interruption."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "POLISH_ROUND", 3)
        results = {name: fit(DATA, method, seed=6) for name, method in METHODS.items()}
    # Otherwise equal graphs would say little.
    assert len({row["edges"] for row in results["oocdm"].history}) > 1
    return results
