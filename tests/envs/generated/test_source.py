"""What mechanisms are shown of their sources."""

from __future__ import annotations

import numpy as np

from oocdm.envs.generated.source import Source, join, of_others, read
from oocdm.worlds.world import WorldState

STATE = WorldState(
    {"A": {"w1": np.arange(8.0).reshape(2, 2, 2)}, "B": {"x1": np.array([[5.0], [0.0]])}},
    {"A": np.array([[True, True], [True, False]]), "B": np.array([[True], [False]])},
)


def test_a_local_source_shows_the_object_itself():
    values, counts = read(STATE, Source("A", "w1", is_local=True), "A")
    assert values.shape == (2, 2, 2) and counts.tolist() == [[True, True], [True, False]]


def test_a_global_source_shows_all_others_that_are_present():
    values, counts = read(STATE, Source("A", "w1", is_local=False), "A")
    assert values.shape == (2, 2, 2, 2)
    assert values[0, 0, 1].tolist() == [2, 3]
    assert counts.tolist() == [[[False, True], [True, False]], [[False, False], [True, False]]]
    values, counts = read(STATE, Source("B", "x1", is_local=False), "A")
    assert values[0].tolist() == [[5], [5]] and counts.tolist() == [[[True]] * 2, [[False]] * 2]


def test_states_and_actions_are_joined():
    joined = join(STATE, {"B": {"a1": np.ones((2, 1))}})
    assert list(joined.values["B"]) == ["x1", "a1"] and list(joined.values["A"]) == ["w1"]


def test_the_field_of_others_prints_as_such():
    assert str(of_others(Source("A", "w1", is_local=True))) == "A[*].w1"
