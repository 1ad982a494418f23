"""What must hold of the arrays of a dataset."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oocdm.data.array_checks import describe_domain
from oocdm.schema import Categorical, Field, Integer, Real
from tests.data.balls import edited, make
from tests.data.mistakes import fails


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
    with fails("Class `Ball` is missing from the dataset's `observed`."):
        replace(data, observed={})
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


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (Integer(0, 3), "a value from 0 to 3"),
        (Real(low=1.5), "a value of at least 1.5"),
        (Real(high=2.5), "a value of at most 2.5"),
        (Categorical(["a", "b"]), "a value from 0 to 1 (a, b)"),
    ],
)
def test_domains_in_words(field: Field, words: str) -> None:
    assert describe_domain(field) == words


def test_numbers_that_no_model_can_reckon_with() -> None:
    advice = (
        "If it stands for an unknown value, blank it; otherwise choose another unit, or subtract "
        "a number near all of them."
    )
    with fails(
        "Field `Ball.x`: expected a number from -1e+18 to 1e+18, got -1.0000000150474662e+30 at "
        f"episode 0, step 2, object 0. {advice}"
    ):
        edited(make(), "x", (2, 0), -1e30)


def test_rows_without_objects_of_their_own():
    data, longer = make((3,)), make((4,))
    names = ("episode", "step", "reward", "terminated", "truncated")
    with fails("Class `Ball`: expected objects for each of the 4 rows, got 3."):
        replace(data, **{name: getattr(longer, name) for name in names})
