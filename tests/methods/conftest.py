"""Fits that several tests look at."""

from __future__ import annotations

import pytest

import oocdm
from oocdm import (
    FitResult,
)
from tests.methods.toys import (
    BASELINES,
    DATA,
    FEW_TESTS,
    QUICK,
)


@pytest.fixture(scope="session")
def fitted() -> dict[str, FitResult]:
    """Every baseline after a few steps."""
    return {
        name: oocdm.fit(DATA, name, seed=3, schedule=QUICK, **FEW_TESTS.get(name, {}))
        for name in BASELINES
    }
