from __future__ import annotations

import tempfile
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.data import Dataset, load_dataset
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


def test_joined_episodes_are_numbered_anew():
    data = make()
    ids = data.episode_ids
    parts = [data.select_episodes(ids[1:]), data.select_episodes(ids[:1]), data]
    whole = Dataset.joined(parts)
    assert whole.episode_ids.tolist() == list(range(2 * len(ids)))
    for number, part in enumerate([parts[0], parts[1]]):
        first = number * (len(ids) - 1)
        again = whole.select_episodes(range(first, first + part.num_episodes))
        for c in data.schema.classes:
            for f in data.schema.fields(c):
                assert np.array_equal(again.cells[c].values[f], part.cells[c].values[f])
                assert np.array_equal(again.cells[c].observed[f], part.cells[c].observed[f])
            assert np.array_equal(again.object_ids[c], part.object_ids[c])
        assert np.array_equal(again.reward, part.reward)
    assert len(whole) == 2 * len(data)


def test_joined_datasets_may_have_other_numbers_of_objects():
    maps = {"map": np.array(["a", "b"])}
    one, two = make(episodes=maps, num_objects=1), make(num_objects=3)
    whole = Dataset.joined([one, two])
    assert whole.present["Ball"].sum(1).tolist() == [1] * 5 + [3] * 5
    assert dict(whole.episodes) == {}  # a column that one of them lacks
    assert list(Dataset.joined([one, one]).episodes["map"]) == ["a", "b"] * 2


def test_wrong_parts_of_a_joined_dataset():
    with fails("Dataset.joined: expected at least one dataset, got none."):
        Dataset.joined([])
    with fails("Dataset.joined: `datasets`: `[0]`: expected a Dataset"):
        Dataset.joined([7])


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


@given(
    st.lists(st.integers(1, 4), min_size=2, max_size=12),
    st.floats(0.01, 0.99),
    st.integers(0, 2**63 - 1),
)
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


class Dot(ObjectClass):
    x = Real()
    spot = Real(shape=(2,))
    mass = Real(static=True)
    push = Real(action=True)


def draw_log(rng, rows, width, density):
    """Padded arrays of dots that come and go, some with unknown values, in three episodes."""
    episode = np.repeat(np.arange(3), rows)
    step = np.tile(np.arange(rows), 3)
    present = rng.random((3 * rows, width)) < density
    can_act = present & (step < rows - 1)[:, None]
    known = {
        "x": present & (rng.random(present.shape) < 0.8),
        "spot": present,
        "mass": present,
        "push": can_act,
    }
    drawn = {
        "x": rng.normal(size=present.shape),
        "spot": rng.normal(size=(*present.shape, 2)),
        "mass": np.repeat(rng.normal(size=(3, width)), rows, axis=0),
        "push": rng.normal(size=present.shape),
    }
    values = {
        f: np.where(known[f].reshape(*present.shape, *[1] * (v.ndim - 2)), v, 0).astype(np.float32)
        for f, v in drawn.items()
    }
    return episode, step, present, values, known


def dots(episode, step, present, values, known):
    off = np.zeros(len(step), bool)
    reward = off.astype(np.float32)
    tables = ({"Dot": values}, {"Dot": present}, {"Dot": known})
    return Dataset(Schema(Dot), *tables, episode, step, reward, off, off)


def same_arrays(data, present, values, known):
    width = data.present["Dot"].shape[1]
    assert not present[:, width:].any()
    assert np.array_equal(data.present["Dot"], present[:, :width])
    for f in values:
        assert np.array_equal(data.values["Dot"][f], values[f][:, :width])
        assert np.array_equal(data.observed["Dot"][f], known[f][:, :width])


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(2, 5),
    width=st.sampled_from([1, 2, 3, 20, 40]),
    density=st.sampled_from([0.0, 0.03, 0.3, 0.9, 1.0]),
)
def test_cells_say_what_padded_arrays_say(seed, rows, width, density):
    rng = np.random.default_rng(seed)
    log = draw_log(rng, rows, width, density)
    episode, present, values, known = log[0], *log[2:]
    data = dots(*log)
    same_arrays(data, present, values, known)
    assert data.max_counts == {"Dot": present.sum(1).max()}

    some = rng.integers(0, len(data), 4)
    batch, before = data.transitions(some), data.starts[some]
    for state, at in ((batch.before, before), (batch.after, before + 1)):
        num = state.counts["Dot"]
        assert not present[at, num:].any()
        assert np.array_equal(state.present["Dot"], present[at, :num])
        for f, value in state.values["Dot"].items():
            assert np.array_equal(value, values[f][at, :num])
            assert np.array_equal(state.observed["Dot"][f], known[f][at, :num])
    sizes = [t.nbytes for s in (batch.before, batch.after) for t in tensors_of(s)]
    assert data.padded_bytes(some) == sum(sizes)

    whole = np.isin(episode, [0, 2])
    same_arrays(
        data.select_episodes([0, 2]),
        *(present[whole], *({f: v[whole] for f, v in each.items()} for each in (values, known))),
    )
    for part in data.split(0.4, seed=3):
        kept = np.isin(episode, part.episode_ids)
        each = ({f: v[kept] for f, v in table.items()} for table in (values, known))
        same_arrays(part, present[kept], *each)
    cut = len(data) - 1
    shorter = data.head(cut)
    is_cut = np.arange(cut + 3) == cut + 2 if rows > 2 else np.zeros(len(shorter.step), bool)
    for table in (values, known):
        table["push"][: len(is_cut)][is_cut] = 0
    each = ({f: v[: len(is_cut)] for f, v in table.items()} for table in (values, known))
    same_arrays(shorter, present[: len(is_cut)], *each)


def tensors_of(state):
    yield from state.present.values()
    for table in (state.values, state.observed):
        for fields in table.values():
            yield from fields.values()


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32), density=st.sampled_from([0.05, 0.5, 1.0]))
def test_files_and_replaced_arrays_say_the_same(seed, density):
    log = draw_log(np.random.default_rng(seed), 4, 20, density)
    data = dots(*log)
    with tempfile.TemporaryDirectory() as folder:
        data.save(f"{folder}/dots")
        again = load_dataset(f"{folder}/dots")
    places = [again.objects_in(e, "Dot") for e in range(3)]
    assert places == [
        {name: i for i, name in enumerate(data.objects_in(e, "Dot"))} for e in range(3)
    ]
    for f, column in data.cells["Dot"].values.items():
        assert np.array_equal(again.cells["Dot"].values[f], column)
    same_arrays(replace(data, present=dict(data.present)), *log[2:])
    same_arrays(replace(data, reward=data.reward), *log[2:])


def traced(make):
    """What a function returns, and how many bytes it had at most."""
    tracemalloc.start()
    try:
        return make(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("in_one_episode", [True, False])
def test_one_crowded_step_is_no_reason_to_pad_all(in_one_episode, tmp_path):
    num = 20_000
    alone = np.arange(num) // 2  # a step with one object, or an episode of two such steps
    crowd, last = np.full(num, alone[-1] + 1), np.full(num, num)
    if in_one_episode:
        episode, step = np.zeros(2 * num, int), np.concatenate([np.arange(num), last])
    else:
        episode, step = np.concatenate([alone, crowd]), np.arange(2 * num) % 2
        step[num:] = 1
        episode, step = np.append(episode, crowd[0]), np.append(step, 0)
    name = np.concatenate([np.zeros(num, int), np.arange(num), np.zeros(len(step) - 2 * num, int)])
    frame = pd.DataFrame(
        {"episode": episode, "step": step, "object": name, "x": np.arange(len(step)) / 7}
    )
    frame["spot"] = [[i, -i] for i in range(len(step))]
    frame["mass"], frame["push"] = 1.0, 0.5
    limit = 10 * frame.memory_usage().sum()

    data, peak = traced(lambda: Dataset.from_frames({"Dot": frame}, Schema(Dot)))
    assert peak < limit
    assert data.max_counts == {"Dot": num}

    def use():
        data.save(tmp_path / "dots")
        again = load_dataset(tmp_path / "dots")
        assert repr(again) == repr(data)
        if not in_one_episode:
            first, second = again.split(0.3, seed=0)
            assert len(first) + len(second) == len(data)
            again.select_episodes([0, 1])
            again.select_episodes(again.episode_ids[1:])
        again.head(len(data) - 1)
        again.objects_in(0, "Dot")
        return again

    again, peak = traced(use)
    assert peak < limit
    assert data.padded_bytes() > 100 * limit
    rows = np.array([0, 3, 9])
    batch, peak = traced(lambda: again.transitions(rows))
    assert batch.before.counts == {"Dot": 1}
    assert data.padded_bytes(rows) < peak < limit
    x = frame["x"].to_numpy(np.float32)
    assert batch.before["Dot.x"][:, 0].tolist() == x[data.starts[rows]].tolist()
    crowded = again.transitions(np.array([0, len(data) - 1])).after
    assert crowded.counts == {"Dot": num}
    assert crowded["Dot.x"][1].tolist() == x[num : 2 * num].tolist()
    assert crowded.present["Dot"].sum(1).tolist() == [1, num]
