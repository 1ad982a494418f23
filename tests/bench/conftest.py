"""Fixtures of the benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from oocdm.data.dataset import Dataset

EXTRA = "comes with the extra oocdm[logs]"


@pytest.fixture(scope="session")
def highway() -> Dataset:
    """A short log of highway-env, if it is installed."""
    pytest.importorskip("highway_env", reason=EXTRA)
    from oocdm.bench.simulators.highway import HIGHWAY
    from oocdm.bench.simulators.simulator import log_steps

    return log_steps(HIGHWAY, 300, seed=1)


@pytest.fixture(scope="session")
def mpe() -> Dataset:
    """A short log of mpe2, if it is installed."""
    pytest.importorskip("mpe2", reason=EXTRA)
    from oocdm.bench.simulators.mpe import MPE
    from oocdm.bench.simulators.simulator import log_steps

    return log_steps(MPE, 400, seed=1)


@pytest.fixture
def quote() -> Callable[[str, str], str]:
    """The text of lines of an installed package, which are named as `file.py:1-3,7; other.py:2`."""

    def text(package: str, places: str) -> str:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            pytest.skip(EXTRA)
        found = []
        for place in places.split("; "):
            path, numbers = place.split(":")
            lines = (Path(spec.origin).parent / path).read_text().splitlines()
            for part in numbers.split(","):
                low, _, high = part.partition("-")
                found += lines[int(low) - 1 : int(high or low)]
        return "\n".join(found)

    return text
