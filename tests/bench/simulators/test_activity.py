"""How often edges of simulators are active."""

from __future__ import annotations

import pytest

from oocdm.bench.simulators.activity import count_activity
from oocdm.bench.simulators.highway import HIGHWAY
from oocdm.bench.simulators.mpe import MPE
from oocdm.bench.simulators.reads import counted_activity
from oocdm.bench.simulators.simulator import Simulator

SURE = {
    "highway": ["Car.x <- self.speed", "Ego.speed <- self.speed"],
    "mpe": ["Prey.x <- self.vx", "Predator.vy <- self.vy"],
}
SOMETIMES = {"highway": "Car.speed <- Car[*].x", "mpe": "Prey.vx <- Predator[*].x"}


@pytest.mark.parametrize("simulator", [HIGHWAY, MPE], ids=lambda s: s.name)
def test_counts_find_what_the_code_reads_and_nothing_else(simulator: Simulator) -> None:
    module = {"highway": "highway_env", "mpe": "mpe2"}[simulator.name]
    pytest.importorskip(module, reason="comes with the extra oocdm[logs]")
    found = count_activity(simulator, states=8, seed=3)
    assert set(found) <= set(simulator.places())
    assert all(found[edge] > 0.7 for edge in SURE[simulator.name])
    assert 0 < found[SOMETIMES[simulator.name]] < 1
    recorded = counted_activity(simulator.name)["activity"]
    often = {edge for edge, share in recorded.items() if share > 0.5}
    assert often <= set(found)


def test_the_seed_decides() -> None:
    pytest.importorskip("mpe2", reason="comes with the extra oocdm[logs]")
    assert count_activity(MPE, states=2, seed=5) == count_activity(MPE, states=2, seed=5)
