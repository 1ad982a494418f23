"""Lists of what simulators read, and how often it makes a difference."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from oocdm.bench.simulators.highway import HIGHWAY
from oocdm.bench.simulators.mpe import MPE
from oocdm.bench.simulators.reads import RARE, counted_activity
from oocdm.bench.simulators.simulator import Simulator
from oocdm.graph import ClassEdges

PLACE = re.compile(r"([a-z_/]+\.py):([\d,-]+)")
each_simulator = pytest.mark.parametrize("simulator", [HIGHWAY, MPE], ids=lambda s: s.name)


@each_simulator
def test_every_edge_is_one_of_the_schema_with_its_places(simulator: Simulator) -> None:
    assert set(simulator.places()) <= set(ClassEdges.of(simulator.schema).names)
    for places in simulator.places().values():
        assert all(PLACE.fullmatch(place) for place in places.split("; "))


@each_simulator
def test_all_that_was_seen_active_is_in_the_list(simulator: Simulator) -> None:
    activity = counted_activity(simulator.name)["activity"]
    assert set(activity) <= set(simulator.places())
    assert simulator.common() == [e for e in simulator.places() if activity.get(e, 0) >= RARE]


@each_simulator
def test_the_package_is_of_the_version_that_was_read_and_counted(simulator: Simulator) -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    wanted = f"{simulator.package}=={simulator.version}"
    assert wanted in project["optional-dependencies"]["logs"]
    assert counted_activity(simulator.name)["package"] == wanted.replace("==", " ")
    try:
        assert version(simulator.package) == simulator.version
    except PackageNotFoundError:
        pytest.skip("comes with the extra oocdm[logs]")
