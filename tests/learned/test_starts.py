"""Where episodes of learned worlds start."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.errors import PlanError
from oocdm.learned.counts import Counts
from oocdm.learned.starts import Starts
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.scales import Scales
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.worlds.convert import to_world_state
from oocdm.worlds.world import WorldState
from tests.inference import knobs
from tests.inference.ragged import ragged, random_model
from tests.learned.toys import COUNTS, DATA

MODEL = random_model(DATA)
FIRST = DATA.transitions(np.unique(DATA.episode_of, return_index=True)[1]).before
ANY = DATA.transitions().before
RNG = np.random.default_rng(0)


def starts(start: Any, **counts: Any) -> Starts:
    return Starts(MODEL, Counts.of(DATA.schema, {**COUNTS, **counts}), start)


def flat(state: WorldState) -> np.ndarray:
    """All numbers of all worlds, (world, number)."""
    parts = [
        v.reshape(len(v), -1).astype(float)
        for fields in state.values.values()
        for v in fields.values()
    ]
    return np.concatenate(parts, 1)


def objects(state: WorldState, c: str) -> set[tuple[float, ...]]:
    """The objects of a class that are present, each as all its numbers."""
    there = state.present[c]
    columns = [v[there].reshape(there.sum(), -1).astype(float) for v in state.values[c].values()]
    return set(map(tuple, np.concatenate(columns, 1)))


@pytest.mark.parametrize(("start", "pool"), [(DATA, FIRST), (ANY, ANY), (FIRST, FIRST)])
def test_whole_states_are_drawn_evenly(start: Any, pool: Snapshot) -> None:
    """From a dataset the first states of its episodes, from a snapshot any."""
    drawn = starts(start)
    known = flat(to_world_state(pool))
    hits = np.zeros(len(known), int)
    for _ in range(40 * len(known)):
        match = (known == flat(drawn.draw(RNG))).all(1)
        assert match.sum() == 1
        hits += match
    assert (hits > 15).all()


def test_a_single_state_is_always_the_start() -> None:
    drawn = starts(DATA.transitions(slice(2, 3)).before)
    expected = flat(to_world_state(DATA.transitions(slice(2, 3)).before))
    for _ in range(3):
        np.testing.assert_array_equal(flat(drawn.draw(RNG)), expected)


def test_other_numbers_are_put_together_from_logged_objects() -> None:
    logged = to_world_state(FIRST)
    state = starts(DATA, Ant=9, Rock=0, Nest=2).draw(RNG)
    assert {c: int(p.sum()) for c, p in state.present.items()} == {"Ant": 9, "Rock": 0, "Nest": 2}
    for c in ("Ant", "Nest"):
        assert objects(state, c) <= objects(logged, c)
    assert len(objects(state, "Ant")) == 9  # none twice, as there are enough
    many = starts(DATA, Ant=40).draw(RNG)
    assert objects(many, "Ant") == objects(logged, "Ant") or len(objects(many, "Ant")) > 9


def test_objects_that_come_and_go_fill_the_first_rows() -> None:
    data = ragged(lengths=(20, 20))
    anything = data.transitions().before
    drawn = Starts(
        random_model(data), Counts.of(data.schema, {"Ant": 2, "Rock": 1, "Nest": 3}), anything
    )
    for _ in range(50):
        state = drawn.draw(RNG)
        assert state.present["Ant"].tolist() == [[True, True]]
        assert state.present["Nest"].tolist() == [[True, True, True]]
        # Unknown values hold 0, which is not a level: only complete objects were drawn.
        assert (state.values["Ant"]["level"] >= 2).all()


def test_a_function_decides_within_the_counts() -> None:
    seen = []

    def choose(rng: np.random.Generator) -> Snapshot:
        row = int(rng.integers(len(ANY.present["Ant"])))
        seen.append(row)
        return ANY.map(lambda t: t[row : row + 1])

    drawn = starts(choose, Ant=(2, 5))
    for _ in range(5):
        state = drawn.draw(RNG)
        expected = to_world_state(ANY.map(lambda t: t[seen[-1] : seen[-1] + 1]))
        assert state.present["Ant"].tolist() == [[True] * 3 + [False] * 2]
        for f, value in expected.values["Ant"].items():
            np.testing.assert_array_equal(state.values["Ant"][f][:, :3], value)
            assert not state.values["Ant"][f][:, 3:].any()


def test_without_a_start_every_field_has_the_spread_of_the_data() -> None:
    drawn = starts(None, Ant=2000, Nest=2000)
    state, values = drawn.draw(RNG), DATA.values
    for f in ("x", "mass"):
        ours, theirs = state.values["Ant"][f], values["Ant"][f]
        assert abs(ours.mean() - theirs.mean()) < 0.3 and 0.7 < ours.std() / theirs.std() < 1.4
    assert state.values["Nest"]["food"].min() >= 0
    assert set(np.unique(state.values["Ant"]["level"])) == {2, 3, 4, 5}
    assert set(np.unique(state.values["Ant"]["heading"])) == {0, 1, 2}
    assert set(np.unique(state.values["Ant"]["alive"])) == {0, 1}
    assert state.values["Ant"]["steps"].dtype == np.int64
    assert abs(np.corrcoef(*state.values["Ant"]["place"][0].T)[0, 1]) < 0.1


def test_chance_comes_from_the_generator_only() -> None:
    for start in (DATA, None):
        one, same, other = (
            flat(starts(start, Ant=4).draw(np.random.default_rng(seed))) for seed in (1, 1, 2)
        )
        assert np.array_equal(one, same) and not np.array_equal(one, other)


# ---------------------------------------------------------------- mistakes


def with_values(c: str, f: str, value: float) -> Snapshot:
    values = {k: dict(fields) for k, fields in FIRST.values.items()}
    values[c][f] = torch.full_like(values[c][f], value)
    return Snapshot(FIRST.schema, values, FIRST.present, FIRST.observed)


UNKNOWN = FIRST.map(lambda t: t[:1]).hide({"Nest": {"food": torch.ones(1, 1, dtype=torch.bool)}})
OTHER = ragged(is_whole=True, slots={"Ant": 3, "Rock": 2, "Nest": 0}).transitions().before


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (
            [1, 2],
            "start: expected a Dataset, a Snapshot, or a function of a random generator that "
            "returns a Snapshot, got list.",
        ),
        (
            with_values("Nest", "food", -2.0),
            "start: field `Nest.food`: expected finite numbers within [0.0, None], got -2.0.",
        ),
        (
            with_values("Ant", "x", float("nan")),
            "start: field `Ant.x`: expected finite numbers within [None, None], got nan.",
        ),
        (
            UNKNOWN,
            "start: expected completely known objects of class `Nest` to draw from, got none. "
            "Give states that have some, or counts={'Nest': 0, ...}.",
        ),
        (
            OTHER,
            "start: expected completely known objects of class `Nest` to draw from, got none. "
            "Give states that have some, or counts={'Nest': 0, ...}.",
        ),
    ],
)
def test_what_cannot_be_a_start(start: Any, message: str) -> None:
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        starts(start)


def test_states_of_another_schema() -> None:
    other = ragged(is_whole=True, schema=DATA.schema.from_json(
        {"classes": {"Nest": {"food": {"kind": "real"}}}}
    ))  # fmt: skip
    message = (
        "start: expected states of the model's schema. First difference, start against model: "
        "classes ['Nest'] against ['Ant', 'Rock', 'Nest']."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        starts(other.transitions().before)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "start: expected the function to return a Snapshot of one world, got NoneType."),
        (FIRST, "start: expected the function to return a Snapshot of one world, got 4 worlds."),
        (
            UNKNOWN,
            "start: expected a state whose values are all known, got one with unknown values. "
            "Fill them in.",
        ),
        (
            FIRST.map(lambda t: t[:1, :2] if t.ndim > 1 else t),
            "start: expected 3 objects of class `Ant` as `counts` says, got 2. Change the function "
            "or the counts.",
        ),
    ],
)
def test_what_a_function_cannot_return(returned: Any, message: str) -> None:
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        starts(lambda rng: returned).draw(RNG)


@pytest.mark.parametrize("kind", ["dataset", "snapshot", "function", "nothing"])
def test_a_class_may_have_nothing_but_actions(kind: str) -> None:
    before = knobs.DATA.transitions(slice(0, 1)).before
    start = {"dataset": knobs.DATA, "snapshot": before, "function": lambda rng: before}.get(kind)
    counts = Counts.of(knobs.SCHEMA, {"Knob": (2, 4), "Lamp": 3})
    state = Starts(knobs.RESULT.model, counts, start).draw(RNG)
    assert state.values["Knob"] == {} and state.values["Lamp"]["x"].shape == (1, 3)
    assert state.present["Knob"].shape == (1, 4) and 2 <= state.present["Knob"].sum() <= 4
    if kind == "function":
        with pytest.raises(PlanError, match=r"^start: expected 3 objects of class `Knob` .* got 2"):
            few = Counts.of(knobs.SCHEMA, {"Knob": 3, "Lamp": 3})
            Starts(knobs.RESULT.model, few, start).draw(RNG)


def test_models_in_raw_units_need_a_start() -> None:
    model = OocdmModel(DATA.schema, ModelOptions.preset("paper"), None)
    message = (
        "start: expected a Dataset, a Snapshot or a function, got none, and this model does not "
        'know where its data lay, as with preset="paper". Give start=data.'
    )
    counts = Counts.of(DATA.schema, {c: 1 for c in DATA.schema.classes})
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        Starts(model, counts, None)
    assert Starts(model, counts, DATA).draw(RNG).present["Ant"].all()


def test_what_never_varied_in_training_does_not_vary() -> None:
    class Ball(ObjectClass):
        x = Real()
        gravity = Real(static=True)

    x = torch.tensor([[1.0], [2.0], [6.0]])
    state = Snapshot.of(Schema(Ball), {"Ball": {"x": x, "gravity": torch.full((3, 1), 9.8)}})
    model = OocdmModel(state.schema, ModelOptions(), Scales.measure(Transitions(state, state)))
    drawn = Starts(model, Counts.of(state.schema, {"Ball": 5}), None).draw(RNG).values["Ball"]
    np.testing.assert_array_equal(drawn["gravity"], np.full((1, 5), np.float32(9.8)))
    assert drawn["x"].std() > 0
