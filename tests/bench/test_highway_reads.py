"""The list of what a step of highway-env reads."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from oocdm.bench.highway import SCHEMA
from oocdm.bench.highway_reads import RARE, common_edges, counted_activity, read_places
from oocdm.graph import ClassEdges

PLACE = re.compile(r"([a-z_/]+\.py):([\d,-]+)")


def test_every_edge_is_one_of_the_schema_with_its_places() -> None:
    known = set(ClassEdges.of(SCHEMA).names)
    assert set(read_places()) <= known
    for places in read_places().values():
        assert all(PLACE.fullmatch(place) for place in places.split("; "))


def test_all_that_was_seen_active_is_in_the_list() -> None:
    activity = counted_activity()["activity"]
    assert set(activity) <= set(read_places())
    assert common_edges() == [e for e in read_places() if activity.get(e, 0) >= RARE]
    assert 30 < len(common_edges()) < len(read_places())


def test_places_are_lines_of_the_package_that_name_what_is_read() -> None:
    if find_spec("highway_env") is None:
        pytest.skip("comes with the extra oocdm[logs]")
    spec = find_spec("highway_env")
    assert spec is not None and spec.origin is not None
    words = {
        **{"x": "position", "y": "position", "lane": "lane_index", "wanted": "target_speed"},
        **{"delta": "DELTA", "timer": "timer", "heading": "heading", "speed": "speed"},
    }
    for edge, places in read_places().items():
        text = ""
        for place in places.split("; "):
            path, numbers = place.split(":")
            lines = (Path(spec.origin).parent / path).read_text().splitlines()
            for part in numbers.split(","):
                low, _, high = part.partition("-")
                text += "\n".join(lines[int(low) - 1 : int(high or low)])
        source = edge.rsplit(".", 1)[1]
        assert words.get(source, source) in text, edge
