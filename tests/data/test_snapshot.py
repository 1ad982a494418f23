"""Snapshots: what they hold, what is hidden from them, what they lack."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.errors import DataError, ModelError, PlanError, SchemaError
from oocdm.schema import Categorical, Integer, ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real(shape=(2,))
    hue = Integer(1, 3)


class Wall(ObjectClass):
    x = Real()


SCHEMA = Schema(Ball, Wall)
WORLD = Snapshot.of(
    SCHEMA,
    {
        "Ball": {"x": torch.ones(2, 3, 2), "hue": torch.full((2, 3), 3)},
        "Wall": {"x": torch.ones(2, 0)},
    },
)


def test_hidden_variables_are_unobserved_and_hold_zero() -> None:
    first = torch.tensor([[True, False, False]])
    each = torch.tensor([[False, False, True], [False, True, False]])
    found = WORLD.hide({"Ball": {"x": first, "hue": each}, "Wall": {"x": torch.ones(1, 0).bool()}})
    assert found["Ball", "x"][..., 1].tolist() == [[0, 1, 1], [0, 1, 1]]
    assert found["Ball", "hue"].tolist() == [[3, 3, 0], [3, 0, 3]]
    assert found["Ball", "hue"].dtype == WORLD["Ball", "hue"].dtype
    assert torch.equal(found.observed["Ball"]["x"], ~first.expand(2, -1))
    assert torch.equal(found.observed["Ball"]["hue"], ~each)
    assert found.present["Ball"].all()
    # The world itself is as it was.
    assert WORLD["Ball", "x"].all() and WORLD.observed["Ball"]["x"].all()


def test_what_is_unknown_stays_so() -> None:
    mask = torch.tensor([[True, False, False]])
    twice = WORLD.hide({"Ball": {"x": mask}}).hide({"Ball": {"x": mask.flip(1)}})
    assert twice.observed["Ball"]["x"].tolist() == [[False, True, False]] * 2


def test_errors() -> None:
    message = "hide `Ball.x`: expected a mask of shape (2 or 1, 3), got (3,)."
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        WORLD.hide({"Ball": {"x": torch.ones(3, dtype=torch.bool)}})
    with pytest.raises(SchemaError, match=r"^Unknown field `Ball\.y`"):
        WORLD.hide({"Ball": {"y": torch.ones(1, 3, dtype=torch.bool)}})


# ---------------------------------------------------------------- what it is made from


def test_arrays_and_lists_become_tensors_of_their_own() -> None:
    x = np.ones((1, 3, 2))
    there = np.array([[1, 1, 0]], dtype=np.int8)
    state = Snapshot.of(
        SCHEMA,
        {"Ball": {"x": x, "hue": [[1, 2, 3.0]]}, "Wall": {"x": [[1, 2]]}},
        {"Ball": there},
    )
    x[:], there[:] = 0, 0
    assert state["Ball", "x"].dtype == torch.float32
    assert state["Ball", "x"].tolist() == [[[1, 1], [1, 1], [0, 0]]]  # the last one is no object
    assert state["Ball", "hue"].dtype == torch.int64
    assert state["Ball", "hue"].tolist() == [[1, 2, 0]]
    assert state["Wall", "x"].dtype == torch.float32
    assert state.present["Ball"].tolist() == [[True, True, False]]
    assert state.observed["Wall"]["x"].tolist() == [[True, True]]
    state.check("plan", SCHEMA, "model", PlanError)
    double = torch.ones(1, 2, dtype=torch.float64)
    kept = Snapshot.of(Schema(Wall), {"Wall": {"x": double}})
    assert kept["Wall", "x"] is double


BALL = {"x": np.ones((1, 3, 2)), "hue": np.ones((1, 3))}
WALL = {"x": np.ones((1, 2))}


@pytest.mark.parametrize(
    ("values", "present", "message"),
    [
        (
            {"Ball": {**BALL, "x": np.ones((3, 2))}, "Wall": WALL},
            {},
            "values['Ball']['x']: expected shape (batch, object, 2), got (3, 2). A single world is "
            "a batch of 1, as x[None].",
        ),
        (
            {"Ball": BALL, "Wall": {"x": np.ones(2)}},
            {},
            "values['Wall']['x']: expected shape (batch, object), got (2,).",
        ),
        (
            {"Ball": {**BALL, "hue": np.ones((1, 4))}, "Wall": WALL},
            {},
            "values['Ball']['hue']: expected shape (1, 3), got (1, 4). `present`, or else the "
            "first field of `Ball`, tells how many objects there are.",
        ),
        (
            {"Ball": BALL, "Wall": WALL},
            {"Wall": [[True]]},
            "values['Wall']['x']: expected shape (1, 1), got (1, 2).",
        ),
        (
            {"Ball": BALL, "Wall": WALL},
            {"Ball": True},
            "class `Ball`: expected shape (batch, object), with the same batch in every class, got "
            "(), and in `Ball` ().",
        ),
        (
            {"Ball": BALL, "Wall": {"x": np.ones((5, 2))}},
            {},
            "class `Wall`: expected shape (batch, object), with the same batch in every class, got "
            "(5, 2), and in `Ball` (1, 3).",
        ),
        (
            {"Ball": BALL, "Wall": {"x": [[1, 2], [3]]}},
            {},
            "values['Wall']['x']: expected numbers in rows of equal lengths, got [[1, 2], [3]]. "
            "Give a tensor, an array or lists, (batch, object, ...).",
        ),
        (
            {"Ball": {**BALL, "hue": [[1, 2, 0.5]]}, "Wall": WALL},
            {},
            "values['Ball']['hue']: expected whole numbers in rows of equal lengths, got [[1, 2, ",
        ),
        (
            {"Ball": BALL, "Wall": WALL},
            {"Wall": "all"},
            "present['Wall']: expected booleans in rows of equal lengths, got 'all'.",
        ),
    ],
)
def test_what_it_cannot_be_made_from(values: Any, present: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^{re.escape(f'Snapshot.of: {message}')}"):
        Snapshot.of(SCHEMA, values, present)


def test_unknown_names_are_told() -> None:
    with pytest.raises(SchemaError, match=r"^Unknown class `Balls`\. Did you mean `Ball`\?"):
        Snapshot.of(SCHEMA, {"Ball": BALL, "Balls": BALL, "Wall": WALL})
    with pytest.raises(SchemaError, match=r"^Unknown class `Walls`"):
        Snapshot.of(SCHEMA, {"Ball": BALL, "Wall": WALL}, {"Walls": [[True]]})
    with pytest.raises(SchemaError, match=r"^Unknown field `Wall\.y`"):
        Snapshot.of(SCHEMA, {"Ball": BALL, "Wall": {**WALL, "y": torch.ones(1, 2)}})


def test_a_class_alone_is_no_key() -> None:
    key: Any
    for key in ("Ball", "Bal", 0, ("Ball",), ("Ball", "x", 0)):
        message = f"Field name: expected `Class.field`, such as `Ball.x`, got {key!r}."
        with pytest.raises(SchemaError, match=f"^{re.escape(message)}"):
            WORLD[key]


def test_a_field_is_named_in_one_word_or_in_two() -> None:
    assert WORLD["Ball.hue"] is WORLD["Ball", "hue"] is WORLD.values["Ball"]["hue"]
    with pytest.raises(SchemaError, match=r"^Unknown field `Ball\.hues`\. Did you mean `hue`\?"):
        WORLD["Ball.hues"]


def test_repr_is_short() -> None:
    some = torch.tensor([[True, True, False], [True, False, False]])
    assert repr(replace(WORLD, present={**WORLD.present, "Ball": some})) == (
        "Snapshot(batch of 2; Ball: 1 to 2 objects, Wall: 0 objects)"
    )
    nobody = WORLD.map(lambda tensor: tensor[:0])
    assert repr(nobody) == "Snapshot(batch of 0; Ball: 0 objects, Wall: 0 objects)"
    assert "tensor" not in repr(Transitions(WORLD, WORLD))


# ---------------------------------------------------------------- classes of nothing but actions


class Knob(ObjectClass):
    turn = Categorical(3, action=True)


KNOBS = Schema(Knob, Wall)


def test_a_class_of_actions_only_is_counted_by_who_is_present() -> None:
    knobs = torch.tensor([[True, False]])
    for values in (
        {"Knob": {}, "Wall": {"x": torch.ones(1, 3)}},
        {"Wall": {"x": torch.ones(1, 3)}},
    ):
        state = Snapshot.of(KNOBS, values, {"Knob": knobs})
        assert state.values["Knob"] == {} and state.observed["Knob"] == {}
        assert state.counts == {"Knob": 2, "Wall": 3} and state.present["Wall"].all()
    message = (
        "Snapshot.of: class `Knob`: expected values, or `present` to tell how many objects there "
        "are, got neither. Give present={'Knob': ...}, booleans of shape (batch, object)."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        Snapshot.of(KNOBS, {"Knob": {}, "Wall": {"x": torch.ones(1, 3)}})


# ---------------------------------------------------------------- checks


def changed(**parts: Any) -> Snapshot:
    return replace(WORLD, **parts)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            Snapshot.of(Schema(Wall), {"Wall": {"x": torch.ones(2, 3)}}),
            "plan: expected a state of the model's schema, got another one: classes "
            "['Ball', 'Wall'] against ['Wall'] (model against state). Give a state of the model's "
            "world.",
        ),
        (
            changed(values={**WORLD.values, "Wall": {}}),
            "plan: values['Wall']['x']: expected shape (2, 0) (batch, object, ...), got none. Make "
            "it with Snapshot.of.",
        ),
        (
            changed(values={**WORLD.values, "Wall": {"x": torch.ones(2, 1)}}),
            "plan: values['Wall']['x']: expected shape (2, 0) (batch, object, ...), got shape "
            "(2, 1). Make it with Snapshot.of.",
        ),
        (
            changed(observed={"Ball": WORLD.observed["Ball"]}),
            "plan: observed['Wall']['x']: expected shape (2, 0) (batch, object, ...), got none. "
            "Make it with Snapshot.of.",
        ),
        (
            changed(present={**WORLD.present, "Wall": torch.ones(3, 0, dtype=torch.bool)}),
            "plan: present['Wall']: expected booleans of shape (batch, object), with the same "
            "batch in every class, got shape (3, 0). Make states with Snapshot.of.",
        ),
        (
            changed(present={}),
            "plan: present['Ball']: expected booleans of shape (batch, object), with the same "
            "batch in every class, got none. Make states with Snapshot.of.",
        ),
    ],
)
def test_what_a_state_lacks_is_told(state: Snapshot, message: str) -> None:
    WORLD.check("plan", SCHEMA, "model", PlanError)
    WORLD.check("plan", Schema(Ball, Wall), "model", PlanError)  # an equal one will do
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        state.check("plan", SCHEMA, "model", PlanError)


def test_actions_are_asked_for_where_they_are_needed() -> None:
    state = Snapshot.of(KNOBS, {"Wall": {"x": torch.ones(1, 3)}}, {"Knob": torch.ones(1, 2).bool()})
    state.check("step", KNOBS, "model", ModelError)
    message = (
        "step: values['Knob']['turn']: expected shape (1, 2) (batch, object, ...), got none. Make "
        "it with with_actions."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        state.check("step", KNOBS, "model", ModelError, with_actions=True)


def test_tensors_of_another_kind_become_those_of_their_fields() -> None:
    whole = torch.tensor([[[2, -2]]])
    state = Snapshot.of(
        SCHEMA,
        {"Ball": {"x": whole, "hue": torch.tensor([[3.0]])}, "Wall": {"x": torch.zeros(1, 1)}},
    )
    assert state["Ball", "x"].dtype == torch.float32 and state["Ball", "x"].tolist() == [[[2, -2]]]
    assert state["Ball", "hue"].dtype == torch.int64 and state["Ball", "hue"].tolist() == [[3]]
    with pytest.raises(
        DataError, match=r"^Snapshot\.of: values\['Ball'\]\['hue'\]: expected whole"
    ):
        Snapshot.of(SCHEMA, {"Ball": {"x": whole, "hue": torch.tensor([[3.5]])}})


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("x", [[[0.0, np.nan]]], "`Ball.x`: expected 2 finite numbers, got nan."),
        ("x", [[[np.inf, 0.0]]], "`Ball.x`: expected 2 finite numbers, got inf."),
        ("hue", [[99]], "`Ball.hue`: expected a whole number from 1 to 3, got 99."),
    ],
)
def test_objects_have_values_that_their_fields_allow(field: str, value: Any, message: str) -> None:
    ball = {"x": [[[0.0, 0.0]]], "hue": [[1]], field: value}
    wall = {"x": [[0.0]]}
    with pytest.raises(DataError, match=f"^{re.escape('Snapshot.of: ' + message)}"):
        Snapshot.of(SCHEMA, {"Ball": ball, "Wall": wall})
    absent = Snapshot.of(SCHEMA, {"Ball": ball, "Wall": wall}, {"Ball": [[False]]})
    assert not absent["Ball", field].any()
