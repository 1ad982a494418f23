"""Fixtures of the benchmarks."""

from __future__ import annotations

import pytest

from oocdm.data.dataset import Dataset


@pytest.fixture(scope="session")
def highway() -> Dataset:
    """A short log of highway-env, if it is installed."""
    pytest.importorskip("highway_env", reason="comes with the extra oocdm[logs]")
    from oocdm.bench.highway import log_highway

    return log_highway(300, seed=1)
