"""Neighbours by hand."""

from __future__ import annotations

import numpy as np

from oocdm.envs.generated.families.neighbours import (
    NeighbourMean,
    Neighbours,
    differences,
    position_draw,
)
from oocdm.envs.generated.source import Source, of_others, read
from oocdm.worlds.world import WorldState

X, Y, V = (Source("A", f, is_local=True) for f in ("x1", "x2", "x3"))
STATE = WorldState(
    {
        "A": {
            "x1": np.array([[0.0, 1.0, 3.0, 0.5]], np.float32),
            "x2": np.array([[0.0, 0.0, 0.0, 5.0]], np.float32),
            "x3": np.array([[1.0, 2.0, 4.0, 8.0]], np.float32),
        }
    },
    {"A": np.array([[True, True, True, True]])},
)
INPUTS = {s: read(STATE, s, "A") for v in (X, Y, V) for s in (v, of_others(v))}


def test_only_those_within_the_radius_count():
    line = NeighbourMean(0.5, of_others(V), ((X, of_others(X)),), 1.5)
    assert line.value(INPUTS).tolist() == [[0.5 * 5, 0.5 * 4.5, 0, 0.5 * 1.5]]
    plane = NeighbourMean(1.0, of_others(V), ((X, of_others(X)), (Y, of_others(Y))), 1.5)
    assert plane.value(INPUTS).tolist() == [[2, 1, 0, 0]]
    assert plane.sources == (of_others(V), X, of_others(X), Y, of_others(Y))


def test_a_mean_may_be_relative_and_is_nothing_without_neighbours():
    term = NeighbourMean(1.0, of_others(V), ((X, of_others(X)), (Y, of_others(Y))), 1.5, V)
    assert term.value(INPUTS).tolist() == [[1, -1, 0, 0]]
    assert V in term.sources
    assert str(term) == (
        "+ 1.00 mean(A[*].x3 - self.x3 of those with |A[*].x1 - self.x1, A[*].x2 - self.x2| < 1.50)"
    )


def test_differences_are_of_others_less_oneself():
    assert differences(INPUTS, X, of_others(X))[0, 1].tolist() == [-1, 0, 2, -0.5]


def test_positions_move_by_velocities():
    m = position_draw(V)(X, np.random.default_rng(0))
    assert m.sources == [X, V] and 0.9 < m.keep < 1


def test_flocks_live_on_lines_and_in_planes_and_read_different_things():
    texts = []
    for seed in range(40):
        blueprint = Neighbours([seed], False, True).blueprint()
        terms = [t for m in blueprint.mechanisms for t in getattr(m, "terms", ())]
        found = [t for t in terms if isinstance(t, NeighbourMean)]
        assert found
        texts += [(len(t.positions), t.less is None, t.source.class_name) for t in found]
    assert {n for n, _, _ in texts} == {1, 2}
    assert {is_plain for _, is_plain, _ in texts} == {True, False}
    assert {c for _, _, c in texts} == {"A", "B"}
