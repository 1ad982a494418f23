"""Long tables become cells in the order of a log."""

from __future__ import annotations

import numpy as np
import pandas as pd

from oocdm.data import Dataset
from oocdm.data.column import Column, Keys
from oocdm.data.table import Steps, codes_of
from oocdm.schema import Categorical
from tests.data.mistakes import fails


def test_slots_follow_the_sorted_names_of_each_episode(data):
    assert data.episode.tolist() == [0, 0, 0, 7, 7]
    assert data.step.tolist() == [0, 1, 2, 4, 5]
    assert data.object_ids["Ant"].tolist() == [["a", "b"], ["c", ""]]
    assert data.present["Ant"].tolist() == [
        [True, True],
        [True, False],
        [True, True],
        [True, False],
        [True, False],
    ]
    assert data.values["Ant"]["x"].tolist() == [[2, 1], [3, 0], [4, 5], [6, 0], [7, 0]]


def test_actions_of_the_last_step_are_not_read(data, frames, schema):
    assert data.observed["Ant"]["push"][:, 0].tolist() == [True, True, False, True, False]
    frames["Ant"]["push"] = 0.5
    frames["Ant"]["carry"] = True
    given = Dataset.from_frames(frames, schema)
    assert given.values["Ant"]["push"][:, 0].tolist() == [0.5, 0.5, 0, 0.5, 0]
    assert np.array_equal(given.observed["Ant"]["carry"], data.observed["Ant"]["carry"])


def test_steps_define_the_rows(frames, schema):
    steps = pd.DataFrame(
        {
            "episode": [0, 0, 0, 7, 7, 7],
            "step": [0, 1, 2, 4, 5, 6],
            "reward": [1, 2, 0, 3, 4, 0],
            "terminated": [False, True, False, False, False, False],
        }
    )
    frames["Ant"]["push"] = frames["Ant"]["push"].fillna(9)
    frames["Ant"]["carry"] = True
    data = Dataset.from_frames(frames, schema, steps=steps)
    assert len(data.episode) == 6
    assert not data.present["Ant"][5].any()
    assert data.values["Ant"]["push"][4, 0] == 9  # no longer the last step of its episode
    assert data.reward.tolist() == [1, 2, 0, 3, 4, 0]
    assert data.terminated.tolist() == [False, True, False, False, False, False]
    with fails("Class `Ant`: got a row for episode 7, step 5, object c, but the table of steps"):
        Dataset.from_frames(frames, schema, steps=steps[:4])


def test_episodes_table(frames, schema):
    about = pd.DataFrame({"episode": [7, 0], "map": ["small", "big"], "players": [1, 2]})
    data = Dataset.from_frames(frames, schema, episodes=about)
    assert data.episodes["map"].tolist() == ["big", "small"]
    assert data.episodes["players"].tolist() == [2, 1]
    with fails("Frame episodes: expected one row for each episode of the steps, got a difference"):
        Dataset.from_frames(frames, schema, episodes=about[:1])
    with fails("Frame episodes: expected one row for each episode of the steps, got an episode tw"):
        Dataset.from_frames(frames, schema, episodes=pd.concat([about, about[:1]]))
    with fails("Frame episodes: column `episode` is missing."):
        Dataset.from_frames(frames, schema, episodes=about[["map"]])


def test_a_class_without_objects(frames, schema):
    frames["Hill"] = pd.DataFrame(columns=frames["Hill"].columns)
    data = Dataset.from_frames(frames, schema)
    assert data.max_counts["Hill"] == 0
    assert data.present["Hill"].shape == (5, 1)


def test_duplicate_object(frames, schema):
    frames["Ant"] = pd.concat([frames["Ant"], frames["Ant"][3:4]])
    with fails(
        "Class `Ant`: expected one row for each object in a step, got two for episode 0, step 2, "
        "object a."
    ):
        Dataset.from_frames(frames, schema)


def test_every_step_that_a_table_mentions_is_a_row():
    def keys(episode, step):
        return Keys(np.array(episode), np.array(step), np.zeros(len(step), int), np.array([0]))

    steps = Steps.mentioned([keys([1, 0, 0], [4, 2, 1]), keys([0, 0], [1, 3])])
    assert steps.episode.tolist() == [0, 0, 0, 1]
    assert steps.step.tolist() == [1, 2, 3, 4]
    assert not steps.reward.any() and not steps.terminated.any()


def test_outcomes_are_sorted_with_their_steps():
    columns = {"episode": [1, 0, 0], "step": [0, 1, 0], "reward": [3.0, np.nan, 1.0]}
    steps = Steps.of({name: np.array(column) for name, column in columns.items()}, "steps")
    assert steps.reward.tolist() == [1, 0, 3] and steps.reward.dtype == np.float32


def test_names_and_numbers_of_categories():
    field, every = Categorical(["north", "south"]), np.ones(2, bool)
    keys = Keys(np.zeros(2, int), np.arange(2), np.zeros(2, int), np.array([7]))
    column = Column("Ant", "heading", field, keys, every)
    for one, code in (("south", 1), (0, 0), (1.0, 1), (np.int8(1), 1)):
        assert codes_of(column, every, ["north", one], np.array([1, 0])).tolist() == [code, 0]
    with fails(
        "Field `Ant.heading`: unknown value 'sout' at episode 0, step 1, object 7. Did you mean "
        "`south`? Known: north, south."
    ):
        codes_of(column, every, ["north", "sout"], np.array([0, 1]))
    for value in (0.5, None, np.inf, 2**63):
        with fails(
            f"Field `Ant.heading`: expected a name or a whole number, got {value} at episode 0, "
            "step 0, object 7. Known: north, south."
        ):
            codes_of(column, every, [value, 0], np.array([0, 1]))
