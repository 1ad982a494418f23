"""What was seen of each field, and what is said of values outside of it."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from oocdm import ClassGraph, Dataset, ModelError, counterfactual, evaluate, rollout
from oocdm.data import Snapshot
from oocdm.inference.seen import Seen, SeenField, seen_by
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema
from tests.inference.ragged import ragged, random_model


class Car(ObjectClass):
    vx = Real()
    place = Real(shape=(2,))
    gear = Integer(0, 5)
    colour = Categorical(["red", "blue", "green"])
    lit = Boolean()
    push = Real(action=True)


SCHEMA = Schema(Car)
DATA = ragged(SCHEMA, (12,) * 6, slots=2)
WHOLE = ragged(SCHEMA, (12,) * 6, slots=2, is_whole=True)
MODEL = random_model(DATA)
SEEN = Seen.of(DATA)
RESULT: Any = SimpleNamespace(model=MODEL, graph=ClassGraph.full(SCHEMA), seen=SEEN)


def known(data: Dataset, name: str) -> np.ndarray:
    before = data.transitions().before
    c, f = name.split(".")
    return before[name][before.observed[c][f]].numpy()


def test_numbers_before_the_steps_are_counted_and_bounded() -> None:
    for name in ("Car.vx", "Car.place", "Car.gear", "Car.push"):
        values, seen = (
            known(DATA, name).reshape(-1, SCHEMA.field(*SCHEMA.split(name)).size),
            SEEN[name],
        )
        assert seen.count == len(values) > 20
        assert seen.least == tuple(values.min(0)) and seen.most == tuple(values.max(0))
        expected = np.quantile(values.astype(float), [0.001, 0.999], axis=0)
        np.testing.assert_allclose([seen.low, seen.high], expected)
        assert seen.shares == ()


def test_categories_have_shares() -> None:
    for name in ("Car.colour", "Car.lit"):
        values = known(DATA, name)
        num = SCHEMA.field(*SCHEMA.split(name)).num_codes
        expected = [(values == i).mean() for i in range(num)]
        assert SEEN[name].shares == pytest.approx(tuple(expected))
        assert SEEN[name].low == ()


def test_one_value_outside_is_told_in_words() -> None:
    few = Seen(SCHEMA, {"Car.vx": SeenField(9, (-5.0,), (-3.1,), (4.2,), (6.0,))})
    text = "vx = 10 lies outside what was seen of Car.vx (0.1 %: -3.1 to 4.2)"
    assert few.outside("vx", "Car.vx", 10.0) == text
    assert few.outside("vx", "Car.vx", 4.2) is None
    assert few.outside("vx", "Car.vx", float("nan")) is not None
    assert few.outside("vx", "Car.vx", -5.0) is not None  # seen, but hardly
    ends = ((0.0, 0.0), (0.0, 0.5), (1.0, 1.0), (2.0, 2.0))
    plane = Seen(SCHEMA, {"Car.place": SeenField(9, *ends)})
    text = "it = (0.5, 9) lies outside what was seen of Car.place (0.1 %: (0, 0.5) to (1, 1))"
    assert plane.outside("it", "Car.place", [0.5, 9.0]) == text
    assert plane.outside("it", "Car.place", [0.5, 0.7]) is None


def test_a_category_that_was_hardly_seen_is_outside() -> None:
    seen = Seen(SCHEMA, {"Car.colour": SeenField(9999, shares=(0.7, 0.2995, 0.0005))})
    text = (
        "it = green lies outside what was seen of Car.colour (red 70 %, blue 29.9 %, green 0.05 %)"
    )
    assert seen.outside("it", "Car.colour", 2) == text
    assert seen.outside("it", "Car.colour", 1) is None


def test_where_nothing_was_seen_everything_is_outside() -> None:
    seen = Seen(SCHEMA, {"Car.vx": SeenField(0), "Car.colour": SeenField(0)})
    assert seen.outside("it", "Car.vx", 0.0) == (
        "it = 0 lies outside what was seen of Car.vx (no value was)"
    )
    assert seen.is_outside("Car.colour", torch.zeros(3, 2, dtype=torch.int64)).all()


def test_many_values_are_told_if_more_than_a_few_are_outside() -> None:
    seen = Seen(SCHEMA, {"Car.vx": SeenField(9999, (-1.0,), (-1.0,), (1.0,), (1.0,))})
    few, many = (np.array([n, 1000]) for n in (10, 11))
    assert list(seen.notes({"Car.vx": few})) == []
    hardly = Seen(SCHEMA, {"Car.vx": replace(seen["Car.vx"], count=100)})
    assert list(hardly.notes({"Car.vx": many})) == []
    nothing = Seen(SCHEMA, {"Car.vx": SeenField(0)})
    assert list(nothing.notes({"Car.vx": np.array([1, 1000])})) == [
        "0.1 % of Car.vx lie outside what was seen (no value was)"
    ]
    assert list(seen.notes({"Car.vx": many}, " at the start")) == [
        "1.1 % of Car.vx at the start lie outside what was seen (0.1 %: -1 to 1)"
    ]


def test_unknown_values_are_not_counted() -> None:
    before = DATA.transitions().before
    for name, (num_out, num) in SEEN.count(before).items():
        values = known(DATA, name)
        assert num == len(values)
        assert num_out <= max(2 * SCHEMA.field(*SCHEMA.split(name)).size, 0.001 * num)


def test_it_survives_json() -> None:
    data = json.loads(json.dumps(SEEN.to_json()))
    assert Seen.from_json(SCHEMA, data, "here") == SEEN
    assert Seen.from_json(SCHEMA, None, "here") is None


def test_what_is_not_what_was_seen_is_refused() -> None:
    data = SEEN.to_json()
    data["Car.colour"]["shares"] = [0.5, 0.1, 0.1]
    with pytest.raises(ModelError, match=r"^here: `Car\.colour`: expected shares that add up to 1"):
        Seen.from_json(SCHEMA, data, "here")
    with pytest.raises(ModelError, match=r"Unknown field `Car\.v`\. Did you mean"):
        SEEN["Car.v"]


def test_results_that_do_not_tell_say_nothing() -> None:
    silent: Any = SimpleNamespace(model=MODEL, graph=RESULT.graph)
    assert seen_by(silent) is None and seen_by(RESULT) is SEEN
    assert evaluate(silent, DATA).outside == ()
    found = rollout(silent, DATA.transitions(slice(0, 1)).before, far(1), samples=2)
    assert found.outside == () and "\n" not in str(found)
    assert counterfactual(silent, DATA, 0, first(0), {}).outside == ()


def far(steps: int) -> dict[str, Any]:
    width = DATA.transitions(slice(0, 1)).before.present["Car"].shape[1]
    return {"Car": {"push": torch.full((steps, 1, width), 50.0)}}


def first(episode: int) -> int:
    return int(DATA.step[DATA.starts][DATA.episode_of == episode][0])


def test_evaluate_tells_which_fields_are_elsewhere() -> None:
    cells = DATA.transitions().before
    assert evaluate(RESULT, DATA).outside == tuple(SEEN.notes(SEEN.count(cells)))
    narrow = {**SEEN.fields, "Car.vx": SeenField(9999, (0.0,), (0.0,), (0.001,), (0.001,))}
    elsewhere = SimpleNamespace(**{**vars(RESULT), "seen": Seen(SCHEMA, narrow)})
    report = evaluate(elsewhere, DATA)
    text = "Car.vx lie outside what was seen (0.1 %: 0 to 0.001)"
    assert any(note.endswith(text) for note in report.outside)
    assert text in str(report) and report.to_json()["outside"] == list(report.outside)


def test_a_rollout_tells_of_start_actions_and_futures() -> None:
    state = WHOLE.transitions(slice(0, 1)).before
    values = {"Car": {**state.values["Car"], "vx": torch.full_like(state["Car.vx"], 1e6)}}
    start = Snapshot(SCHEMA, values, state.present, state.observed)
    found = rollout(RESULT, start, far(3), samples=4)
    text = "\n".join(found.outside)
    assert "100 % of Car.vx at the start lie outside what was seen (0.1 %: " in text
    assert "100 % of Car.push among the actions lie outside" in text
    assert any("% of Car.vx after " in note for note in found.outside)
    assert str(found) == "\n".join([repr(found), *found.outside])


def test_a_counterfactual_tells_what_was_set_and_what_came_of_it() -> None:
    step = first(0)
    name = "Car[1].push"
    found = counterfactual(RESULT, WHOLE, 0, step, {name: 1e7})
    assert found.outside[0].startswith(f"{name} = 1e+07 lies outside what was seen of Car.push (")
    came = [note for note in found.outside if note.startswith(f"step {step + 1}: Car[")]
    assert came and all("lies outside what was seen of Car." in note for note in came)
    assert str(found).endswith("\n".join(found.outside))
    assert counterfactual(RESULT, WHOLE, 0, step, {}).outside == ()
