"""Following by hand."""

from __future__ import annotations

import numpy as np

from oocdm.envs.generated.families.following import (
    Closeness,
    Following,
    Nearest,
    OfNearest,
)
from oocdm.envs.generated.source import Source, of_others, read
from oocdm.worlds.world import WorldState

X, V, K = (Source("A", f, is_local=True) for f in ("x1", "x2", "k1"))
STATE = WorldState(
    {
        "A": {
            "x1": np.array([[0.0, 3.0, 1.0, 0.5]], np.float32),
            "x2": np.array([[1.0, 2.0, 4.0, 9.0]], np.float32),
            "k1": np.array([[0, 0, 1, 0]]),
        }
    },
    {"A": np.array([[True, True, True, False]])},
)
INPUTS = {s: read(STATE, s, "A") for v in (X, V, K) for s in (v, of_others(v))}
AHEAD = Nearest((X, of_others(X)), 1)
IN_LANE = Nearest((X, of_others(X)), 1, (K, of_others(K)))


def test_the_nearest_ahead_is_found():
    which, gap, some = (values[0, :3].tolist() for values in AHEAD.find(INPUTS))
    assert (which[0], which[2]) == (2, 1) and gap == [1, np.inf, 2] and some == [True, False, True]
    behind = Nearest((X, of_others(X)), -1).find(INPUTS)
    assert behind[0][0, 1] == 2 and behind[2][0, :3].tolist() == [False, True, True]


def test_lanes_separate():
    which, gap, some = (values[0, :3].tolist() for values in IN_LANE.find(INPUTS))
    assert which[0] == 1 and gap[0] == 3 and some == [True, False, False]
    assert str(IN_LANE) == "the next with A[*].x1 > self.x1 and A[*].k1 = self.k1"
    assert IN_LANE.sources == (X, of_others(X), K, of_others(K))


def test_terms_of_the_nearest():
    close = Closeness(-2.0, AHEAD, 0.5).value(INPUTS)[0, :3]
    np.testing.assert_allclose(close, [-2 * np.exp(-2), 0, -2 * np.exp(-4)], rtol=1e-5)
    speed = OfNearest(0.5, AHEAD, of_others(V))
    assert speed.value(INPUTS)[0, :3].tolist() == [2, 0, 1]
    relative = OfNearest(0.5, AHEAD, of_others(V), V)
    assert relative.value(INPUTS)[0, :3].tolist() == [1.5, 0, -1]
    assert relative.sources == (of_others(V), V, X, of_others(X))
    assert str(relative) == ("+ 0.50 (A[*].x2 - self.x2) of the next with A[*].x1 > self.x1")


def test_cars_look_ahead_or_behind_at_gaps_speeds_lanes_and_marks():
    seen = set()
    for seed in range(40):
        for m in Following([seed], False, True).blueprint().mechanisms:
            for t in getattr(m, "terms", ()):
                if isinstance(t, Closeness | OfNearest):
                    seen.add(type(t).__name__)
                    seen.add(t.nearest.direction)
                    seen.add("lane" if t.nearest.lane else "no lane")
                    seen.add(t.nearest.position[1].class_name)
    assert seen == {"Closeness", "OfNearest", 1, -1, "lane", "no lane", "A", "B"}
