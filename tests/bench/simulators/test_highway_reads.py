"""The list of what a step of highway-env reads."""

from __future__ import annotations

from collections.abc import Callable

from oocdm.bench.simulators.highway import HIGHWAY

WORDS = {
    **{"x": "position", "y": "position", "lane": "lane_index", "wanted": "target_speed"},
    **{"delta": "DELTA"},
}


def test_places_are_lines_of_the_package_that_name_what_is_read(
    quote: Callable[[str, str], str],
) -> None:
    for edge, places in HIGHWAY.places().items():
        source = edge.rsplit(".", 1)[1]
        assert WORDS.get(source, source) in quote("highway_env", places), edge


def test_some_of_it_is_rare() -> None:
    assert 30 < len(HIGHWAY.common()) < len(HIGHWAY.places())
