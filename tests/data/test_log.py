"""Rows, transitions and places of a log."""

from __future__ import annotations

import numpy as np

from tests.data.balls import make


def test_a_gap_in_steps_is_no_transition():
    data = make((4,), step=np.array([0, 1, 5, 6]))
    assert data.starts.tolist() == [0, 2]
    assert data.num_episodes == 1


def test_the_last_rows_of_episodes():
    data = make((3, 1, 2))
    assert data.is_last.tolist() == [False, False, True, True, False, True]
    assert data.starts.tolist() == [0, 1, 4]


def test_places_have_the_names_of_people(data):
    assert data.place("Ant", 2, 1) == "episode 0, step 2, object b"
    assert data.place("Ant", 3, 0) == "episode 7, step 4, object c"
    assert (data.num_episodes, data.episode_ids.tolist()) == (2, [0, 7])
