from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oocdm.errors import DataError, SchemaError
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.worlds import collect
from tests.data.balls import SCHEMA, make
from tests.data.mistakes import fails


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


def test_collected_data_splits_with_rewards(make_world):
    data = collect(make_world(), 300)
    first, second = data.split(0.3, seed=0)
    assert np.isclose(first.reward.sum() + second.reward.sum(), data.reward.sum())
