"""A generator without surprises, for transitions computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


class StillGenerator(np.random.Generator):
    """Normal draws are 0; draws from [0, 1) are `chance`."""

    chance = 0.0

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        return np.zeros(size, dtype=dtype)

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        return np.full(size, self.chance, dtype=dtype)


@pytest.fixture
def still() -> StillGenerator:
    return StillGenerator(np.random.PCG64(0))
