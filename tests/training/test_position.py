"""What a position keeps of discoveries and rounds."""

from __future__ import annotations

import numpy as np

from oocdm.discovery import Discovery
from oocdm.graph import ClassEdges, Evidence, Layout
from oocdm.training.position import Position
from tests.training.toys import DATA

LAYOUT = Layout(ClassEdges.of(DATA.schema), ("network",))
FULL, NONE = LAYOUT.structure(True), LAYOUT.structure(False, False)


def found(structure) -> Discovery:
    return Discovery(structure, Evidence.nothing(LAYOUT.edges))


def test_what_stays_the_same_is_counted() -> None:
    position = Position(FULL)
    for structure, unchanged in ((FULL, 1), (FULL, 2), (NONE, 0), (NONE, 1)):
        position.take(found(structure))
        assert position.unchanged == unchanged and position.structure == structure
    assert np.array_equal(position.found, [FULL.edges, FULL.edges, NONE.edges, NONE.edges])


def test_other_paths_are_no_other_graph() -> None:
    position = Position(FULL)
    position.take(found(FULL.with_paths(False)))
    assert position.unchanged == 1 and not position.structure.paths.any()


def test_rounds_tell_their_phase() -> None:
    position = Position(FULL, phase="learn", rounds=3)
    position.record(12, [1.0, 2.0], ran_out=False)
    position.begin("polish")
    position.record(1, [], ran_out=True)
    assert position.rounds == 0
    first, second = position.history
    assert first == {
        "phase": "learn",
        "step": 12,
        "loss": 1.5,
        "edges": int(FULL.edges.sum()),
        "ran_out": False,
    }
    assert (second["phase"], second["loss"], second["ran_out"]) == ("polish", None, True)
