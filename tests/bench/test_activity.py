"""How often edges of highway-env are active."""

from __future__ import annotations

import pytest

from oocdm.bench.highway_reads import counted_activity, read_places


def test_counts_find_what_the_code_reads_and_nothing_else() -> None:
    pytest.importorskip("highway_env", reason="comes with the extra oocdm[logs]")
    from oocdm.bench.activity import count_activity

    found = count_activity(states=8, seed=3)
    assert set(found) <= set(read_places())
    assert all(found[edge] > 0.7 for edge in ("Car.x <- self.speed", "Ego.speed <- self.speed"))
    assert 0 < found["Car.speed <- Car[*].x"] < 1
    recorded = counted_activity()["activity"]
    often = {edge for edge, share in recorded.items() if share > 0.5}
    assert often <= set(found)
