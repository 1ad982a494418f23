from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from oocdm.data import Dataset
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema
from tests.data.mistakes import fails


class Dot(ObjectClass):
    v = Real()


def dots(column, field=None):
    """One object over as many steps as the column has cells."""
    cls = type("Dot", (ObjectClass,), {"v": field or Real(), "w": Real()})
    frame = pd.DataFrame({"episode": 0, "step": range(len(column)), "object": 0, "w": 0.0})
    frame["v"] = column
    return Dataset.from_frames({"Dot": frame}, Schema(cls))


def test_values_of_every_kind(data):
    ants = data.values["Ant"]
    assert ants["place"].shape == (5, 2, 2)
    assert ants["heading"].tolist() == [[1, 0], [2, 0], [0, 0], [1, 0], [1, 0]]
    assert ants["awake"].dtype == np.int64
    assert ants["food"].tolist() == [[2, 1], [0, 0], [4, 5], [6, 0], [7, 0]]
    assert not data.observed["Ant"]["food"][1, 0]
    assert data.observed["Ant"]["x"][1, 0]


def test_the_order_of_rows_and_columns_does_not_matter(data, frames, schema):
    mixed = {
        name: frame.sample(frac=1, random_state=3)[frame.columns[::-1]]
        for name, frame in frames.items()
    }
    again = Dataset.from_frames(mixed, schema)
    for field, values in data.values["Ant"].items():
        assert np.array_equal(again.values["Ant"][field], values)


def test_steps_errors(frames, schema):
    steps = pd.DataFrame({"episode": [0, 0], "step": [0, 0]})
    with fails("Frame steps: expected each step once, got episode 0, step 0 twice."):
        Dataset.from_frames(frames, schema, steps=steps)
    with fails("Frame steps: unknown column `rewards`. Did you mean `reward`?"):
        Dataset.from_frames(frames, schema, steps=steps.assign(rewards=0.0))
    with fails(
        "Frame steps: column `terminated`: expected true or false, got 2 at episode 0, step 0."
    ):
        Dataset.from_frames(frames, schema, steps=steps.assign(step=[0, 1], terminated=2))
    with fails("Frame steps: column `reward`: expected a number, got 'much' at episode 0, step 0."):
        Dataset.from_frames(frames, schema, steps=steps.assign(step=[0, 1], reward="much"))


@pytest.mark.parametrize(
    ("reward", "terminated"),
    [
        ([1.0, 2, np.nan, 3, np.nan], [False, True, np.nan, False, np.nan]),
        ([1.0, 2, None, 3, pd.NA], [False, True, None, False, pd.NA]),
        (
            pd.array([1, 2, None, 3, None], dtype="Int64"),
            pd.array([False, True, None, False, None], dtype="boolean"),
        ),
        (
            pd.array([1, 2, None, 3, None], dtype=pd.ArrowDtype(pa.float32())),
            pd.array([False, True, None, False, None], dtype=pd.ArrowDtype(pa.bool_())),
        ),
    ],
    ids=["NaN", "objects", "nullable", "arrow"],
)
def test_the_last_step_may_lack_its_outcome(frames, schema, reward, terminated):
    steps = frames["Hill"][["episode", "step"]]
    steps = steps.assign(reward=reward, terminated=terminated)
    data = Dataset.from_frames(frames, schema, steps=steps.sample(frac=1, random_state=0))
    assert data.reward.tolist() == [1, 2, 0, 3, 0]
    assert data.terminated.tolist() == [False, True, False, False, False]
    # One step further down, the gap is where an action was.
    for name, expected in {"reward": "a number", "terminated": "true or false"}.items():
        moved = steps.assign(**{name: steps[name].iloc[[0, 2, 1, 3, 4]].array})
        with fails(
            f"Frame steps: column `{name}`: expected {expected}, got a missing value at episode "
            "0, step 1. Only the last step of an episode has no outcome; fill in the others."
        ):
            Dataset.from_frames(frames, schema, steps=moved)


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1.0, None, 3.0], dtype="Float64"),
        pd.array([1, None, 3], dtype="Int64"),
        np.array([1.0, None, 3.0], dtype=object),
        np.array([1, pd.NA, 3], dtype=object),
        pd.array([1.0, None, 3.0], dtype=pd.ArrowDtype(pa.float32())),
    ],
    ids=["Float64", "Int64", "None", "NA", "arrow"],
)
def test_missing_values(column):
    data = dots(column)
    assert data.values["Dot"]["v"][:, 0].tolist() == [1, 0, 3]
    assert data.observed["Dot"]["v"][:, 0].tolist() == [True, False, True]


def test_missing_names_and_vectors():
    named = dots(["a", None, "b"], Categorical(["a", "b"]))
    assert named.values["Dot"]["v"][:, 0].tolist() == [0, 0, 1]
    assert named.observed["Dot"]["v"][:, 0].tolist() == [True, False, True]
    vectors = dots([[1, 2], None, np.array([3, 4])], Integer(shape=(2,)))
    assert vectors.values["Dot"]["v"][:, 0].tolist() == [[1, 2], [0, 0], [3, 4]]
    nothing = dots([None, None])
    assert not nothing.observed["Dot"]["v"].any()
    nothing = dots([None, None], Real(shape=(2,)))
    assert not nothing.observed["Dot"]["v"].any()


@pytest.mark.parametrize(
    "column",
    [["b", "a"], [1, 0], [1.0, 0.0], ["b", 0], pd.Categorical(["b", "a"], ["b", "a"])],
    ids=str,
)
def test_categories_by_name_or_number(column):
    data = dots(column, Categorical(["a", "b"]))
    assert data.values["Dot"]["v"][:, 0].tolist() == [1, 0]


NAN = (
    "NaN is not a value. If it stands for a missing one, say so: use a nullable column, as in "
    'df["v"] = df["v"].convert_dtypes(), or None or pd.NA in a column of dtype object.'
)


@pytest.mark.parametrize(
    ("column", "field", "message"),
    [
        (
            [1.0, np.nan],
            Real(),
            f"Field `Dot.v`: expected a finite number, got NaN at episode 0, step 1, object 0. "
            f"{NAN}",
        ),
        (
            np.array([1.0, np.nan], dtype=object),
            Real(),
            f"Field `Dot.v`: expected a value or None, got NaN at episode 0, step 1, object 0. "
            f"{NAN}",
        ),
        (
            [[1.0, 2.0], [np.nan, 1.0]],
            Real(shape=(2,)),
            f"Field `Dot.v`: expected a finite number, got NaN at episode 0, step 1, object 0. "
            f"{NAN}",
        ),
        (
            [1.0, np.inf],
            Real(),
            "Field `Dot.v`: expected a number from -1e+18 to 1e+18, got inf at episode 0, step 1, ",
        ),
        (
            [1.0, 1e300],
            Real(),
            "Field `Dot.v`: expected a number from -1e+18 to 1e+18, got 1e+300 at episode 0, step ",
        ),
        (
            [1.0, 1.5],
            Integer(),
            "Field `Dot.v`: expected a whole number (int64), got 1.5 at episode 0, step 1, obj",
        ),
        (
            [1, 2**63],
            Integer(),
            "Field `Dot.v`: expected a whole number (int64), got 9223372036854775808 at episode 0",
        ),
        (
            ["red", "blue"],
            Real(),
            "Field `Dot.v`: expected numbers, got a column of dtype object, with 'red' at episode "
            "0, step 0, object 0. Convert it, or declare the field as what it holds.",
        ),
        (
            pd.date_range("2020", periods=2),
            Integer(),
            "Field `Dot.v`: expected whole numbers, got a column of dtype ",
        ),
        (
            ["a", "c"],
            Categorical(["a", "bc"]),
            "Field `Dot.v`: unknown value 'c' at episode 0, step 1, object 0. Did you mean `bc`? "
            "Known: a, bc.",
        ),
        (
            [("a",), ("b",)],
            Categorical(["a", "b"]),
            "Field `Dot.v`: expected a name or a whole number, got ('a',) at episode 0, step 0, "
            "object 0. Known: a, b.",
        ),
        (
            [0, 2],
            Categorical(["a", "b"]),
            "Field `Dot.v`: expected a value from 0 to 1 (a, b), got 2 at episode 0, step 1, obj",
        ),
        (
            [[1.0, 2.0], [1.0]],
            Real(shape=(2,)),
            "Field `Dot.v`: expected a vector of shape (2,), got [1.0] at episode 0, step 1, obj",
        ),
        (
            [1.0, 2.0],
            Real(shape=(2,)),
            "Field `Dot.v`: expected a vector of shape (2,), got 1.0 at episode 0, step 0, object",
        ),
        (
            [[1.0], [2.0]],
            Real(),
            "Field `Dot.v`: expected numbers, got a column of dtype object, with [1.0] at episode "
            "0, step 0, object 0. Convert it, or declare the field as what it holds.",
        ),
        (
            [0, 11],
            Integer(0, 10),
            "Field `Dot.v`: expected a value from 0 to 10, got 11 at episode 0, step 1, object 0.",
        ),
        (
            [1.0, 2.0],
            Real(static=True),
            "Static field `Dot.v`: expected one value within an episode, got 1.0 at step 0 and 2.0",
        ),
    ],
)
def test_wrong_values(column, field, message):
    with fails(message):
        dots(column, field)


def test_the_advice_about_nan_works():
    column = pd.Series([1.0, np.nan, 2.0]).convert_dtypes()
    assert dots(column).observed["Dot"]["v"][:, 0].tolist() == [True, False, True]


def test_wrong_classes_and_columns(frames, schema):
    ants, hills = frames["Ant"], frames["Hill"]
    with fails("Frames: unknown class `Ants`. Did you mean `Ant`? Known: Ant, Hill."):
        Dataset.from_frames({"Ants": ants, "Hill": hills}, schema)
    with fails(
        "Frames: class `Hill` is missing. Expected one frame for each of: Ant, Hill; got: Ant."
    ):
        Dataset.from_frames({"Ant": ants}, schema)
    with fails("Frame `Hill`: unknown column `Height`. Did you mean `height`?"):
        Dataset.from_frames(
            {"Ant": ants, "Hill": hills.rename(columns={"height": "Height"})}, schema
        )
    with fails(
        "Frame `Hill`: column `height` is missing. Expected: episode, step, object, height; "
        "got: episode, step, object."
    ):
        Dataset.from_frames({"Ant": ants, "Hill": hills.drop(columns="height")}, schema)
    with fails("Frame `Hill`: expected each column once, got `height` twice."):
        Dataset.from_frames({"Ant": ants, "Hill": pd.concat([hills, hills.height], axis=1)}, schema)
    with fails("Frame `Hill`: expected a pandas DataFrame, got dict."):
        Dataset.from_frames({"Ant": ants, "Hill": {}}, schema)
    for wrong in ([ants, hills], ants):
        with fails(
            f"Frames: expected a mapping from each class to its frame, got {type(wrong).__name__}. "
            "Write {'Ant': ..., 'Hill': ...}."
        ):
            Dataset.from_frames(wrong, schema)
    with fails("Frame steps: expected a pandas DataFrame, got list."):
        Dataset.from_frames(frames, schema, steps=[0, 1])
    with fails("Frame episodes: expected a pandas DataFrame, got dict."):
        Dataset.from_frames(frames, schema, episodes={"episode": [0, 7]})


def test_wrong_keys(frames, schema):
    hills = frames["Hill"]

    def with_hills(**columns):
        Dataset.from_frames({**frames, "Hill": hills.assign(**columns)}, schema)

    whole = "expected whole numbers (int64) without missing values, got"
    with fails(
        f"Frame `Hill`: column `episode`: {whole} 3.5 in row 3, counted from 0. Number them anew."
    ):
        with_hills(episode=hills.episode / 2)
    with fails(
        f"Frame `Hill`: column `step`: {whole} a missing value in row 2, counted from 0. A merge "
        "leaves some where it finds no partner: leave these rows out."
    ):
        with_hills(step=pd.array([0, 1, None, 4, 5], dtype="Int64"))
    with fails(f"Frame `Hill`: column `step`: {whole} a missing value in row 2"):
        with_hills(step=[0.0, 1, None, 4, 5])
    with fails(f"Frame `Hill`: column `step`: {whole} inf in row 4"):
        with_hills(step=[0.0, 1, 2, 4, np.inf])
    with fails("Frame `Hill`: column `step`: expected whole numbers without missing values, got"):
        with_hills(step=["0", "1", "2", "4", "5"])
    with fails("Frame `Hill`: column `object`: expected whole numbers or strings without missing"):
        with_hills(object=["a", "b", "c", "d", None])
    with fails("Frame `Hill`: column `object`: expected whole numbers or strings without missing"):
        with_hills(object=["a", "b", "c", "d", 5])
    with fails(f"Frame `Hill`: column `object`: {whole} 18446744073709551615 in row 0"):
        with_hills(object=np.full(5, 2**64 - 1, dtype=np.uint64))
    with fails(f"Frame `Hill`: column `object`: {whole} 1.1805916207174113e+21 in row 0"):
        with_hills(object=np.full(5, 2**70, dtype=object))


def test_whole_floats_are_numbers_of_episodes_steps_and_objects(data, frames, schema):
    floats = frames["Hill"].astype({"episode": float, "step": "Float64", "object": float})
    again = Dataset.from_frames({**frames, "Hill": floats}, schema)
    assert np.array_equal(again.present["Hill"], data.present["Hill"])
    assert again.object_ids["Hill"].dtype == np.int64
    large = frames["Hill"].assign(object=np.full(5, 2**60 + 1, dtype=object))
    assert Dataset.from_frames({**frames, "Hill": large}, schema).object_ids["Hill"][0, 0] % 2 == 1


def test_empty_and_single_steps(frames, schema):
    with fails("The dataset is empty: expected at least two steps of one episode, got 0."):
        Dataset.from_frames({name: frame[:0] for name, frame in frames.items()}, schema)
    with fails("The dataset has no transition: expected an episode with two steps whose numbers"):
        Dataset.from_frames({name: frame[:1] for name, frame in frames.items()}, schema)


def test_speed():
    rows = 200_000
    i = np.arange(rows)
    frame = pd.DataFrame(
        {
            "episode": i // 1000,
            "step": i // 10 % 100,
            "object": np.array([f"dot{k}" for k in range(10)], dtype=object)[i % 10],
            "v": np.zeros(rows),
        }
    )
    start = time.perf_counter()
    data = Dataset.from_frames({"Dot": frame}, Schema(Dot))
    assert time.perf_counter() - start < 2
    assert len(data) == 19_800


def cells(*values):
    """A column of dtype object."""
    column = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        column[i] = value
    return pd.Series(column)


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


class Wordy:
    def __repr__(self):
        return "many words\n" * 10_000


WITHIN_ITSELF = []
WITHIN_ITSELF.append(WITHIN_ITSELF)

# Columns that no field of numbers takes, each with a wrong cell in step 1, and how that is shown.
MESSY = {
    "strings of numbers": (cells(1, "2", 3), "'2'"),
    "strings": (cells(1.0, "nan", 3), "'nan'"),
    "a megabyte": (cells(1, "x" * 10**6, 3), "'xxxxxxxxxx"),
    "bytes": (cells(1, b"2", 3), "b'2'"),
    "half a character": (cells(1, "\udcff", 3), r"'\udcff'"),
    "complex": (cells(1.0, 2j, 3.0), "2j"),
    "moments": (cells(1, pd.Timestamp("2020-01-01"), 3), "Timestamp('2020-01-01 00:00:00')"),
    "periods": (cells(1, pd.Period("2020", "Y"), 3), "Period('2020', 'Y-DEC')"),
    "decimals": (cells(1, Decimal("1.5"), 3), "Decimal('1.5')"),
    "fractions": (cells(1, Fraction(1, 2), 3), "Fraction(1, 2)"),
    "an empty tuple": (cells(1, (), 3), "()"),
    "an empty list": (cells(1, [], 3), "[]"),
    "a list": (cells(1, [1, 2, 3], 3), "[1, 2, 3]"),
    "a long list": (cells(1, list(range(10**5)), 3), "[0, 1, 2, 3, 4, 5, ...]"),
    "lists": (cells([1], [1, 2], [3]), None),
    "a dictionary": (cells(1, {"a": 1}, 3), "{'a': 1}"),
    "a set": (cells(1, {2}, 3), "{2}"),
    "an array": (cells(1, np.ones((2, 2)), 3), "array([[1., 1.], [1., 1.]])"),
    "an empty array": (cells(1, np.ones(0), 3), "array([], dtype=float64)"),
    "a frame": (cells(1, pd.DataFrame(), 3), "Empty DataFrame Columns: [] Index: []"),
    "a series": (cells(1, pd.Series([1, 2]), 3), "0 1 1 2 dtype: int64"),
    "a function": (cells(1, len, 3), "<built-in function len>"),
    "wordy": (cells(1, Wordy(), 3), "many words many words"),
    "deep": (cells(1, nested(5000), 3), "[[[[[[[...]]]]]]]"),
    "within itself": (cells(1, WITHIN_ITSELF, 3), "[[[[[[[...]]]]]]]"),
    "10**400": (cells(1, 10**400, 3), "a whole number of about 401 digits"),
    "10**5000": (cells(1, 10**5000, 3), "a whole number of about 5001 digits"),
    "2**64": (cells(1, 2**64, 3), "18446744073709551616"),
}


@pytest.mark.parametrize("field", [Real(), Integer(), Boolean()], ids=["real", "whole", "flag"])
@pytest.mark.parametrize("name", MESSY)
def test_messy_columns_of_numbers(name, field):
    column, shown = MESSY[name]
    expected = "numbers" if field.is_real else "whole numbers"
    at = " at episode 0, step 1, object 0." if shown else " at episode 0, step 0, object 0."
    with fails(
        f"Field `Dot.v`: expected {expected}, got a column of dtype object, with {shown or '[1]'}"
    ) as caught:
        dots(column, field)
    assert at in str(caught.value)
    assert str(caught.value).endswith(". Convert it, or declare the field as what it holds.")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", MESSY)
def test_messy_columns_of_names(name):
    column, shown = MESSY[name]
    with fails("Field `Dot.v`: ") as caught:
        dots(cells(column[0], column[1], 0), Categorical(["a", "b"]))
    message = str(caught.value)
    assert f" {shown or '[1]'}" in message
    assert f" at episode 0, step {1 if shown else 0}, object 0. " in message
    assert message.endswith("Known: a, b.")
    assert len(message) < 400


@pytest.mark.parametrize("name", MESSY)
def test_messy_columns_of_vectors(name):
    column, shown = MESSY[name]
    vectors = cells([1, 2], column[1], [3, 4])
    if name == "a series":  # which is a vector
        assert len(dots(vectors, Real(shape=(2,)))) == 2
        return
    if name == "lists":
        vectors, shown = cells([1, 2], [1, 2, 3], [3, 4]), "[1, 2, 3]"
    with fails(f"Field `Dot.v`: expected a vector of shape (2,), got {shown}") as caught:
        dots(vectors, Real(shape=(2,)))
    assert str(caught.value).endswith(
        " at episode 0, step 1, object 0. Write a list of 2 numbers, or None where it is missing."
    )


@pytest.mark.parametrize(
    ("vectors", "shown"),
    [
        (cells([1.0, None], [1.0, 2.0]), "[1.0, None]"),
        (cells(["a", "b"], [1.0, 2.0]), "['a', 'b']"),
        (cells([1j, 2], [1.0, 2.0]), "[1j, (2+0j)]"),
        (cells([10**400, 2], [1.0, 2.0]), "[a whole number of about 401 digits, 2]"),
    ],
    ids=["None", "strings", "complex", "huge"],
)
def test_messy_components(vectors, shown):
    with fails("Field `Dot.v`: expected numbers, got a column of dtype ") as caught:
        dots(vectors, Real(shape=(2,)))
    assert f", with {shown} at episode 0, step 0, object 0. " in str(caught.value)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1j, 2j]),
        pd.Series(pd.date_range("2020", periods=2)),
        pd.Series(pd.date_range("2020", periods=2, tz="UTC")),
        pd.Series(pd.to_timedelta([1, 2])),
        pd.Series(pd.period_range("2020", periods=2)),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series(pd.Categorical(["x", "y"])),
        pd.Series(["x", "y"], dtype="string"),
        pd.Series([Decimal(1), Decimal(2)], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
    ],
    ids=lambda column: str(column.dtype),
)
@pytest.mark.parametrize(
    "field", [Real(), Integer(0, 5), Boolean(), Real(shape=(2,)), Categorical(["a", "b"])], ids=repr
)
def test_columns_of_odd_dtypes(column, field):
    with fails("Field `Dot.v`: ") as caught:
        dots(column, field)
    if not (field.names and column.dtype == complex):
        assert " at episode 0, step 0, object 0." in str(caught.value)


@pytest.mark.parametrize(
    "column", [pd.Series([True, False]), pd.array([True, None], dtype="boolean"), cells(True, None)]
)
def test_booleans_are_no_real_numbers(column):
    with fails(
        "Field `Dot.v`: expected a number, got True at episode 0, step 0, object 0. Declare the "
        "field as Boolean, or write numbers."
    ):
        dots(column)
    assert dots(column, Boolean()).values["Dot"]["v"][0, 0] == 1


@pytest.mark.parametrize(
    "column",
    [
        *(pd.Series([1, 0], dtype=kind) for kind in ("float16", "longdouble", "int8", "uint64")),
        pd.Series(pd.arrays.SparseArray([1.0, 0.0])),
        pd.Series(pd.Categorical([1, 0])),
        cells(1, pd.NaT),
        cells(np.array(1.0), np.float16(0)),
    ],
)
@pytest.mark.parametrize("field", [Real(), Integer(0, 5), Boolean()], ids=["real", "whole", "flag"])
def test_odd_columns_that_hold_numbers(column, field):
    assert dots(column, field).values["Dot"]["v"][:, 0].tolist() == [1, 0]


@pytest.mark.parametrize("field", [Real(), Categorical(["a", "b"]), Real(shape=(2,))], ids=repr)
def test_moments_that_are_missing(field):
    assert not dots(pd.Series([pd.NaT, pd.NaT]), field).observed["Dot"]["v"].any()


@pytest.mark.parametrize("key", ["episode", "step", "object"])
@pytest.mark.parametrize("name", [*MESSY, "booleans", "None", "NaT", "float", "name"])
def test_messy_keys(name, key):
    more = {
        "booleans": cells(True, False, True),
        "None": cells(0, None, 1),
        "NaT": cells(0, pd.NaT, 1),
        "float": cells(0, 1.5, 2),
        "name": cells(0, ("a", 1), 1),
    }
    column = more[name] if name in more else MESSY[name][0]
    frame = pd.DataFrame({"episode": 0, "step": range(3), "object": 0, "v": 1.0})
    frame[key] = column
    with fails(f"Frame `Dot`: column `{key}`: expected whole numbers") as caught:
        Dataset.from_frames({"Dot": frame}, Schema(Dot))
    assert len(str(caught.value)) < 300


def test_numbers_beyond_all_bounds():
    frame = pd.DataFrame({"episode": 0, "step": cells(0, 10**400), "object": 0, "v": 1.0})
    with fails(
        "Frame `Dot`: column `step`: expected whole numbers (int64) without missing values, got a "
        "whole number of about 401 digits in row 1, counted from 0. Number them anew."
    ):
        Dataset.from_frames({"Dot": frame}, Schema(Dot))
    low = -(2**63)
    frame = pd.DataFrame({"episode": low, "step": [low, low + 1], "object": low, "v": 1.0})
    assert len(Dataset.from_frames({"Dot": frame}, Schema(Dot))) == 1


@pytest.mark.parametrize("name", MESSY)
def test_messy_outcomes(name):
    frame = pd.DataFrame({"episode": 0, "step": range(3), "object": 0, "v": 1.0})
    column = MESSY[name][0]
    for outcome in ("reward", "terminated"):
        steps = frame[["episode", "step"]].assign(**{outcome: column})
        if outcome == "reward" and name == "2**64":
            continue  # so much can be earned
        with fails(f"Frame steps: column `{outcome}`: expected ") as caught:
            Dataset.from_frames({"Dot": frame}, Schema(Dot), steps=steps)
        assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        (5, "5"),
        (1.5, "1.5"),
        (("a", 1), "('a', 1)"),
        (np.nan, "nan"),
        (b"v", "b'v'"),
        (pd.Timestamp("2020"), "Timestamp('2020-01-01 00:00:00')"),
        (Wordy(), "many words"),
    ],
    ids=["int", "float", "tuple", "nan", "bytes", "moment", "wordy"],
)
def test_names_of_columns_are_strings(label, shown):
    frame = pd.DataFrame({"episode": 0, "step": range(2), "object": 0, "v": 1.0})
    steps, episodes = frame[["episode", "step"]], pd.DataFrame({"episode": [0]})

    def odd(table):
        return pd.concat([table, pd.DataFrame({label: [1] * len(table)})], axis=1)

    for what, given in {
        "Frame `Dot`": ({"Dot": odd(frame)}, Schema(Dot)),
        "Frame steps": ({"Dot": frame}, Schema(Dot), odd(steps)),
        "Frame episodes": ({"Dot": frame}, Schema(Dot), steps, odd(episodes)),
    }.items():
        with fails(f"{what}: expected columns whose names are strings, got {shown}") as caught:
            Dataset.from_frames(*given)
        assert ". Rename it, or leave it out. Known: episode" in str(caught.value)
    with fails(f"Frames: unknown class `{shown.strip(chr(39))}"):
        Dataset.from_frames({"Dot": frame, label: frame}, Schema(Dot))


def test_empty_and_repeated_frames():
    frame = pd.DataFrame({"episode": 0, "step": range(2), "object": 0, "v": 1.0})
    with fails("The dataset is empty: expected at least two steps of one episode, got 0."):
        Dataset.from_frames({"Dot": frame[:0]}, Schema(Dot))
    with fails("Frame `Dot`: column `episode` is missing. Expected: episode, step, object, v; got"):
        Dataset.from_frames({"Dot": pd.DataFrame()}, Schema(Dot))
    with fails("Class `Dot`: expected one row for each object in a step, got two for episode 0, s"):
        Dataset.from_frames({"Dot": pd.concat([frame, frame])}, Schema(Dot))
    assert len(Dataset.from_frames({"Dot": frame.set_index(np.zeros(2, int))}, Schema(Dot))) == 1
    with fails("Frames: expected the schema of their classes, got None. Write oocdm.Schema(...)"):
        Dataset.from_frames({"Dot": frame}, None)
    wide = frame.set_axis(pd.MultiIndex.from_product([["a"], frame.columns]), axis=1)
    with fails("Frame `Dot`: expected columns whose names are strings, got ('a', 'episode')."):
        Dataset.from_frames({"Dot": wide}, Schema(Dot))


def test_names_of_objects_that_no_file_can_hold():
    names = pd.Series(["anna", "b\ud800"], dtype=object)
    frame = pd.DataFrame({"episode": 0, "step": [0, 1], "object": names, "v": 0.0})
    with fails(
        "Frame `Dot`: column `object`, row 1: expected a name that is valid text, got "
        "'b\\ud800', with half of a character."
    ):
        Dataset.from_frames({"Dot": frame}, Schema(Dot))
