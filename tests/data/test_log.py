"""Rows, transitions and places of a log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.data.balls import make
from tests.data.mistakes import fails


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


def test_places_that_each_episode_needs():
    on = np.ones((5, 2), bool)
    on[:3, 1] = False
    x = on.astype(np.float32)
    push, can_act = x.copy(), on.copy()
    push[[2, 4]], can_act[[2, 4]] = 0, False
    data = make(
        values={"Ball": {"x": x, "mass": x, "push": push}},
        present={"Ball": on},
        observed={"Ball": {"x": on, "mass": on, "push": can_act}},
    )
    assert data.num_places("Ball").tolist() == [1, 2]
    assert data.objects_of("Ball").tolist() == [0, 0, 0, 1, 2, 1, 2]
    assert data.names["Ball"][1].tolist() == [0, 0, 1]
    assert data.object_ids["Ball"].tolist() == [[0, 0], [0, 1]]
    with fails(
        "Class `Ball`: object_ids: expected a name for each object, got too few for episode 0. "
        "Give the names of these data."
    ):
        replace(make(), object_ids=data.object_ids)
