from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oocdm.data import Dataset
from oocdm.errors import DataError, SchemaError
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.worlds import collect
from tests.data.mistakes import fails


class Ball(ObjectClass):
    x = Real(high=9)
    mass = Real(static=True)
    push = Real(action=True)


SCHEMA = Schema(Ball)


def make(lengths=(3, 2), num_objects=2, **changes):
    """A dataset of balls whose `x` is the number of the row; `changes` replace arrays."""
    rows = sum(lengths)
    on = np.ones((rows, num_objects), dtype=bool)
    last = np.cumsum(lengths, dtype=int) - 1
    push = np.ones((rows, num_objects), dtype=np.float32)
    push[last] = 0
    can_act = on.copy()
    can_act[last] = False
    x = np.broadcast_to(np.arange(rows, dtype=np.float32)[:, None] / 100, on.shape)
    arrays = {
        "values": {"Ball": {"x": x, "mass": np.ones(on.shape, np.float32), "push": push}},
        "present": {"Ball": on},
        "observed": {"Ball": {"x": on, "mass": on, "push": can_act}},
        "episode": np.repeat(np.arange(len(lengths)), np.array(lengths, int)),
        "step": np.concatenate([np.arange(n) for n in (0, *lengths)]),
        "reward": np.zeros(rows, np.float32),
        "terminated": np.zeros(rows, bool),
        "truncated": np.zeros(rows, bool),
    }
    return Dataset(SCHEMA, **{**arrays, **changes})


def edited(data, field, where, value):
    """The dataset with one entry of a field changed."""
    values = {"Ball": {f: v.copy() for f, v in data.values["Ball"].items()}}
    values["Ball"][field][where] = value
    return dataclasses.replace(data, values=values)


def test_sizes_and_repr():
    data = make((3, 2), episodes={"map": np.array(["a", "b"])})
    assert len(data) == 3
    assert data.num_episodes == 2
    assert data.episode_of.tolist() == [0, 0, 1]
    assert data.starts.tolist() == [0, 1, 3]
    assert data.max_counts == {"Ball": 2}
    assert repr(data) == "Dataset(2 episodes, 3 transitions; Ball: 2 objects)"
    assert repr(make((2,), 1)) == "Dataset(1 episode, 1 transition; Ball: 1 object)"


def test_ragged_counts_in_repr_and_max_counts(data):
    assert data.max_counts == {"Ant": 2, "Hill": 1}
    assert repr(data) == ("Dataset(2 episodes, 3 transitions; Ant: 1 to 2 objects, Hill: 1 object)")


def test_the_number_of_a_named_object(data):
    assert [data.object_number(0, "Ant", name) for name in "ab"] == [0, 1]
    assert data.object_number(7, "Ant", "c") == 0
    assert data.object_number(7, "Hill", 0) == 0
    x = data.values["Ant"]["x"][data.episode == 0][0]
    assert x[data.object_number(0, "Ant", "b")] == 1
    with fails("object_number: episode 7, class `Ant`: unknown object 'a'. Known: c."):
        data.object_number(7, "Ant", "a")
    with fails("object_number: episode 7, class `Ant`: unknown object ''. Known: c."):
        data.object_number(7, "Ant", "")  # what fills empty places is no name
    with fails("object_number: episode 0, class `Ant`: unknown object 0. Known: a, b."):
        data.object_number(0, "Ant", 0)
    with fails(
        "object_number: expected episodes of this dataset, which has 2 from 0 to 7; got episode 3."
    ):
        data.object_number(3, "Ant", "a")
    with pytest.raises(SchemaError, match=r"^Unknown class `Ants`\. Did you mean `Ant`\?"):
        data.object_number(0, "Ants", "a")


def test_transitions_pair_neighbouring_rows():
    data = make((3, 2))
    batch = data.transitions()
    assert batch.batch_size == 3
    assert batch.before["Ball", "x"].dtype == torch.float32
    assert torch.equal(batch.before["Ball", "x"][:, 0], torch.tensor([0.0, 0.01, 0.03]))
    assert torch.equal(batch.after["Ball", "x"][:, 0], torch.tensor([0.01, 0.02, 0.04]))
    assert set(batch.before.values["Ball"]) == {"x", "mass", "push"}
    assert set(batch.after.values["Ball"]) == set(batch.after.observed["Ball"]) == {"x", "mass"}
    with pytest.raises(DataError, match="has no actions yet"):
        batch.after["Ball", "push"]


@pytest.mark.parametrize("rows", [slice(1, None), np.array([1, 2]), np.array([False, True, True])])
def test_some_transitions(rows):
    batch = make((3, 2)).transitions(rows)
    assert batch.before["Ball", "x"][:, 0].tolist() == pytest.approx([0.01, 0.03])


def test_a_gap_in_steps_is_no_transition():
    data = make((4,), step=np.array([0, 1, 5, 6]))
    assert data.starts.tolist() == [0, 2]
    assert data.num_episodes == 1


def test_transitions_carry_presence_and_observation(data):
    batch = data.transitions()
    assert batch.before.present["Ant"].tolist() == [[True, True], [True, False], [True, False]]
    assert batch.counted("Ant").tolist() == [[True, False], [True, False], [True, False]]
    assert batch.known("Ant", "food").tolist() == [[False, False], [True, False], [True, False]]


def test_arrays_cannot_be_written():
    data = make()
    with pytest.raises(ValueError, match="read-only"):
        data.values["Ball"]["x"][0] = 1
    data.transitions().before["Ball", "x"][0] = 1  # a batch is the caller's own


def test_select_episodes():
    data = make((3, 2, 4), episodes={"map": np.array(["a", "b", "c"])})
    some = data.select_episodes([2, 0])
    assert some.episode_ids.tolist() == [0, 2]
    assert some.episodes["map"].tolist() == ["a", "c"]
    assert some.values["Ball"]["x"][3, 0] == np.float32(0.05)
    assert len(some) == 5
    with fails(
        "select_episodes: expected episodes of this dataset, which has 3 from 0 to 2; "
        "got episode 5."
    ):
        data.select_episodes([0, 5])
    with fails("select_episodes: expected episodes of this dataset, which has 3 from 0 to 2; got"):
        data.select_episodes([])


def test_head_cuts_the_last_episode():
    data = make((3, 4), terminated=np.array([0, 1, 0, 0, 0, 1, 0], bool))
    cut = data.head(3)
    assert len(cut) == 3
    assert cut.episode.tolist() == [0, 0, 0, 1, 1]
    assert cut.truncated.tolist() == [False, False, False, True, False]
    assert cut.terminated.tolist() == [False, True, False, False, False]
    assert cut.observed["Ball"]["push"][:, 0].tolist() == [True, True, False, True, False]
    assert cut.values["Ball"]["push"][-1].tolist() == [0, 0]
    assert cut.transitions().before["Ball", "push"].tolist() == [[1, 1]] * 3


def test_head_at_the_end_of_an_episode_cuts_nothing():
    cut = make((3, 4)).head(2)
    assert cut.num_episodes == 1
    assert not cut.truncated.any()


def test_head_of_more_than_all_is_all():
    data = make()
    assert data.head(100) is data
    with fails("head: expected at least one transition, got 0."):
        data.head(0)


@given(st.lists(st.integers(1, 4), min_size=2, max_size=12), st.floats(0.01, 0.99), st.integers(0))
def test_split_is_a_partition_of_episodes(lengths, fraction, seed):
    lengths = [2, 2, *lengths]
    data = make(tuple(lengths))
    first, second = data.split(fraction, seed)
    assert len(first) + len(second) == len(data)
    assert sorted([*first.episode_ids, *second.episode_ids]) == data.episode_ids.tolist()
    assert not set(first.episode_ids) & set(second.episode_ids)
    again = data.split(fraction, seed)
    assert again[1].episode_ids.tolist() == second.episode_ids.tolist()


def test_split_takes_the_asked_fraction():
    first, second = make((2,) * 50).split(0.2, seed=1)
    assert (first.num_episodes, second.num_episodes) == (40, 10)
    assert second.episode_ids.tolist() != list(range(10))


def test_split_errors():
    with fails("split: expected at least two episodes with transitions, got 1."):
        make((5,)).split(0.5, seed=0)
    with fails("split: expected at least two episodes with transitions, got 1."):
        make((5, 1)).split(0.5, seed=0)
    with fails("split: expected a fraction between 0 and 1, got 1.0."):
        make().split(1.0, seed=0)


def test_check_schema():
    make().check_schema(SCHEMA, "the model")
    other = Schema(type("Ball", (ObjectClass,), {"x": Real()}))
    with fails(
        "This dataset does not fit the model. First difference, dataset against the model: "
        "fields of Ball: ['x', 'mass', 'push'] against ['x']."
    ):
        make().check_schema(other, "the model")


def test_wrong_shape_and_dtype():
    data = make()
    wrong = {"Ball": {**data.values["Ball"], "x": np.zeros((5, 3), np.float32)}}
    with fails(
        "Field `Ball.x`: expected shape (5, 2) and dtype float32, got shape (5, 3) and dtype "
        "float32."
    ):
        make(values=wrong)
    wrong = {"Ball": {**data.values["Ball"], "x": np.zeros((5, 2))}}
    with fails(
        "Field `Ball.x`: expected shape (5, 2) and dtype float32, got shape (5, 2) and dtype "
        "float64."
    ):
        make(values=wrong)
    with fails("Column `reward`: expected shape (5,) and dtype float32, got shape (4,)"):
        make(reward=np.zeros(4, np.float32))
    with fails("Class `Ball`: object_ids: expected shape (2, 2), got (1, 2)."):
        make(object_ids={"Ball": np.zeros((1, 2), int)})
    with fails("Column `map` of `episodes`: expected one entry for each of the 2 episodes"):
        make(episodes={"map": np.zeros(3)})


def test_missing_and_unknown_names():
    data = make()
    with fails("Class `Ball` is missing from the dataset's `values`."):
        make(values={})
    with fails("Field `Ball.x` is missing from the dataset's `values` or `observed`."):
        make(values={"Ball": {"push": data.values["Ball"]["push"]}})
    with fails("Unknown field `Ball.y`. Known: x, mass, push."):
        make(values={"Ball": {**data.values["Ball"], "y": data.values["Ball"]["x"]}})
    with fails("Unknown class `Bal`. Did you mean `Ball`? Known: Ball."):
        make(present={**data.present, "Bal": data.present["Ball"]})


def test_row_order():
    with fails(
        "The dataset's rows: expected each step once, sorted by episode and step; got episode 0, "
        "step 1 after episode 0, step 2."
    ):
        make((3,), step=np.array([0, 2, 1]))
    with fails("The dataset's rows: expected each step once"):
        make((3,), step=np.array([0, 0, 1]))
    with fails(
        "The dataset has no transition: expected an episode with two steps whose numbers follow "
        "each other, got 3 single steps in 3 episodes."
    ):
        make((1, 1, 1))
    with fails("The dataset is empty: expected at least two steps of one episode, got 0."):
        make(())


def test_values_that_a_field_does_not_allow():
    data = make()
    with fails(
        "Field `Ball.x`: expected a finite number (float32), got nan at episode 1, step 0, "
        "object 1."
    ):
        edited(data, "x", (3, 1), np.nan)
    with fails(
        "Field `Ball.x`: expected a value of at most 9, got 10.0 at episode 0, step 2, object 0."
    ):
        edited(data, "x", (2, 0), 10)
    with fails(
        "Static field `Ball.mass`: expected one value within an episode, got 1.0 at step 0 and "
        "2.0 at episode 0, step 1, object 1."
    ):
        edited(data, "mass", (1, 1), 2)
    edited(data, "mass", slice(3, None), 2)  # another episode may have another mass
    with fails("Column `reward`: expected a finite number (float32), got inf at episode 0, step"):
        make(reward=np.array([0, np.inf, 0, 0, 0], np.float32))


def test_static_values_are_compared_across_missing_ones():
    observed = make().observed["Ball"]
    seen = observed["mass"].copy()
    seen[1] = False
    mass = np.ones((5, 2), np.float32)
    mass[1], mass[2] = 0, 3
    values = {"Ball": {**make().values["Ball"], "mass": mass}}
    with fails("Static field `Ball.mass`: expected one value within an episode, got 1.0 at step 0"):
        make(values=values, observed={"Ball": {**observed, "mass": seen}})


def test_static_values_are_known_in_every_step_of_their_episode():
    data = make((4, 3, 2))
    present = np.ones((9, 2), bool)
    present[2, 0] = False
    seen = np.zeros((9, 2), bool)
    seen[1, 0] = seen[3, 1] = seen[5] = True
    mass = np.zeros((9, 2), np.float32)
    mass[1, 0], mass[3, 1], mass[5] = 5, 6, (7, 8)
    x, push = (np.where(present, data.values["Ball"][f], 0) for f in ("x", "push"))
    can_act = data.observed["Ball"]["push"] & present
    filled = make(
        (4, 3, 2),
        values={"Ball": {"x": x.astype(np.float32), "mass": mass, "push": push}},
        present={"Ball": present},
        observed={"Ball": {"x": present, "mass": seen, "push": can_act}},
    )
    assert filled.values["Ball"]["mass"].tolist() == [
        *([5, 6], [5, 6], [0, 6], [5, 6]),  # one object is absent for a step
        *([7, 8], [7, 8], [7, 8]),
        *([0, 0], [0, 0]),  # nobody knows
    ]
    known = filled.observed["Ball"]["mass"]
    assert np.array_equal(known, present & (filled.episode < 2)[:, None])
    assert seen.sum() == 4 and mass.sum() == 26  # what was given is as it was
    with pytest.raises(ValueError, match="read-only"):
        filled.values["Ball"]["mass"][0] = 1


def test_padding_holds_zero():
    data = make()
    with fails(
        "Field `Ball.push`: expected 0 where nothing is observed, got 1.0 at episode 0, step 2, "
        "object 0."
    ):
        edited(data, "push", (2, 0), 1)
    gone = np.ones((5, 2), bool)
    gone[4, 1] = False
    with fails(
        "Field `Ball.x`: observed at episode 1, step 1, object 1, where the object is not present."
    ):
        make(present={"Ball": gone})


def test_outcomes_stand_in_the_row_of_their_action():
    with fails(
        "Column `terminated`: the last step of an episode has no outcome, but episode 0, step 2 "
        "has True. A row holds a state, its action and the outcome of that action. If this outcome "
        "stands beside its action, whose next state is not logged, blank it in the last step of "
        "every episode; if it stands in the row after its action, move the column up by one step."
    ):
        make(terminated=np.array([0, 0, 1, 0, 0], bool))


def test_collected_data_splits_with_rewards(make_world):
    data = collect(make_world(), 300)
    first, second = data.split(0.3, seed=0)
    assert np.isclose(first.reward.sum() + second.reward.sum(), data.reward.sum())
