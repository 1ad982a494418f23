"""Field types, object classes and schemas."""

from __future__ import annotations

import copy
import json
import pickle
import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oocdm.errors import SchemaError
from oocdm.schema import (
    LIKELIHOODS,
    MAX_CATEGORICAL_VALUES,
    Boolean,
    Categorical,
    Field,
    Integer,
    ObjectClass,
    Real,
    Schema,
    field_from_json,
)


def fails(message: str) -> Any:
    """A SchemaError with exactly this message."""
    return pytest.raises(SchemaError, match=f"^{re.escape(message)}$")


# ---------------------------------------------------------------- random schemas

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in {"episode", "step", "object", "self"}
)
# Without the one character that no name may have, as it ends names of files.
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)
ROLES = st.sampled_from([{}, {"action": True}, {"static": True}])
SHAPES = st.sampled_from([(), (1,), (2,), (5,)])


@st.composite
def fields(draw: st.DrawFn) -> Field:
    """Any field: all types, roles, bounds, shapes and likelihoods."""
    role = draw(ROLES)
    kind = draw(st.sampled_from([Real, Integer, Categorical, Boolean]))
    if kind is Categorical:
        names = st.lists(TEXTS, min_size=2, max_size=4, unique=True)
        return Categorical(draw(st.integers(2, 9) | names), **role)
    if kind is Boolean:
        return Boolean(**role, likelihood=draw(st.sampled_from(["", "normal", "categorical"])))
    number = st.integers(-99, 99) if kind is Integer else st.floats(-99, 99)
    low, high = (draw(st.none() | number) for _ in range(2))
    assume(low is None or high is None or low < high)
    likelihoods = ["", "auto", "normal", "mixture"]
    if kind is Integer and None not in (low, high):
        likelihoods.append("categorical")
    return kind(low, high, draw(SHAPES), **role, likelihood=draw(st.sampled_from(likelihoods)))


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    classes = []
    for name in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)):
        own = draw(st.dictionaries(NAMES, fields(), min_size=1, max_size=4))
        classes.append(type(name, (ObjectClass,), own))
    assume(any(cls.targets() for cls in classes))
    return Schema(*classes)


@settings(max_examples=25)
@given(schemas())
def test_json_round_trip(schema: Schema) -> None:
    text = json.dumps(schema.to_json(), allow_nan=False)
    back = Schema.from_json(json.loads(text))
    assert back == schema and hash(back) == hash(schema)
    assert back.difference(schema) is None
    assert json.dumps(back.to_json()) == text
    assert repr(back) == repr(schema)
    for c in schema.classes:
        assert back.targets(c) == schema.targets(c)
        assert dict(back.fields(c)) == dict(schema.fields(c))


@settings(max_examples=25)
@given(fields())
def test_field_json_round_trip(field: Field) -> None:
    back = field_from_json(json.loads(json.dumps(field.to_json())))
    assert back == field and type(back) is type(field)
    for name in ("role", "shape", "size", "low", "high", "num_codes", "dtype", "likelihood"):
        assert getattr(back, name) == getattr(field, name)


@settings(max_examples=25)
@given(schemas(), st.data())
def test_any_change_of_a_field_makes_another_schema(schema: Schema, data: st.DataObject) -> None:
    c = data.draw(st.sampled_from(list(schema.classes)))
    f = data.draw(st.sampled_from(list(schema.fields(c))))
    new = data.draw(fields())
    assume(new != schema.field(c, f))
    other = {
        name: type(name, (ObjectClass,), {**schema.fields(name), **({f: new} if name == c else {})})
        for name in schema.classes
    }
    assume(any(cls.targets() for cls in other.values()))
    changed = Schema(*other.values())
    assert changed != schema
    assert (changed.difference(schema) or "").startswith(f"field {c}.{f}: ")


# ---------------------------------------------------------------- field types


def test_roles() -> None:
    assert [Real(**role).role for role in ({}, {"action": True}, {"static": True})] == [
        *("state", "action", "static")
    ]
    assert [Real(**role).is_target for role in ({}, {"action": True}, {"static": True})] == [
        *(True, False, False)
    ]


@pytest.mark.parametrize(
    ("field", "size", "num_codes", "likelihood", "dtype"),
    [
        (Real(), 1, 0, "auto", np.float32),
        (Real(0, 1, (3,)), 3, 0, "auto", np.float32),
        (Real(shape=3), 3, 0, "auto", np.float32),  # type: ignore[arg-type]
        (Integer(), 1, 0, "auto", np.int64),
        (Integer(0), 1, 0, "auto", np.int64),
        (Integer(0, 7, (2,)), 2, 8, "categorical", np.int64),
        (Integer(-3, 3), 1, 7, "categorical", np.int64),
        (Integer(1, MAX_CATEGORICAL_VALUES), 1, 64, "categorical", np.int64),
        (Integer(0, MAX_CATEGORICAL_VALUES), 1, 65, "auto", np.int64),
        (Integer(0, 7, likelihood="normal"), 1, 8, "normal", np.int64),
        (Categorical(5), 1, 5, "categorical", np.int64),
        (Categorical(["north", "south"]), 1, 2, "categorical", np.int64),
        (Boolean(), 1, 2, "categorical", np.int64),
        (Boolean(likelihood="normal"), 1, 2, "normal", np.int64),
    ],
)
def test_what_a_field_is(
    field: Field, size: int, num_codes: int, likelihood: str, dtype: Any
) -> None:
    assert (field.size, field.num_codes, field.likelihood) == (size, num_codes, likelihood)
    assert field.dtype is dtype
    assert field.is_real == isinstance(field, Real)
    assert field.is_numeric != isinstance(field, Categorical)


@pytest.mark.parametrize(
    ("field", "is_coded"),
    [
        (Real(0, 1), False),
        (Integer(low=0), False),
        (Integer(1, MAX_CATEGORICAL_VALUES), True),
        (Integer(0, MAX_CATEGORICAL_VALUES), False),
        (Integer(0, 99, likelihood="categorical"), False),
        (Integer(0, 7, likelihood="normal"), True),
        (Categorical(MAX_CATEGORICAL_VALUES + 1), True),  # without an order there is no other way
        (Boolean(likelihood="normal"), True),
    ],
)
def test_what_is_coded(field: Field, is_coded: bool) -> None:
    assert field.is_coded is is_coded


@settings(max_examples=50)
@given(fields().filter(lambda field: field.num_codes > 0), st.data())
def test_codes_round_trip(field: Field, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.integers(0, field.num_codes - 1)))
    codes: Any
    for codes in (np.array(drawn, np.int64), torch.tensor(drawn, dtype=torch.int64)):
        values = field.from_codes(codes)
        assert type(values) is type(codes) and values.dtype == codes.dtype
        assert not field.out_of_domain(np.asarray(values)).any()
        assert field.to_codes(values).tolist() == drawn


@settings(max_examples=50)
@given(fields().filter(lambda field: field.num_codes > 0), st.lists(st.integers(-300, 300)))
def test_what_a_field_does_not_allow_gets_the_nearest_code(field: Field, given: list[int]) -> None:
    values: Any
    for values in (np.array(given, np.int64), torch.tensor(given, dtype=torch.int64)):
        nearest = field.clip(np.array(given, np.int64)).tolist()
        assert field.from_codes(field.to_codes(values)).tolist() == nearest
        assert values.tolist() == given


@pytest.mark.parametrize("field", [Real(0, 1), Integer(low=3)])
def test_without_a_list_of_values_there_are_no_codes(field: Field) -> None:
    message = (
        f"Codes: expected a field with a list of values, got {field!r}. Only Categorical, Boolean, "
        "and Integer with both low and high have codes."
    )
    for ask in (field.to_codes, field.from_codes):
        with fails(message):
            ask(np.zeros(3, int))


def test_names_of_values() -> None:
    assert Categorical(["a", "b"]).names == ("a", "b")
    assert Categorical(3).names == Real().names == ()


def test_out_of_domain() -> None:
    values = np.array([-1, 0, 3, 4])
    assert Integer(0, 3).out_of_domain(values).tolist() == [True, False, False, True]
    assert Integer(low=0).out_of_domain(values).tolist() == [True, False, False, False]
    assert Real(high=3.5).out_of_domain(values).tolist() == [False, False, False, True]
    assert not Real().out_of_domain(values).any()
    assert Boolean().out_of_domain(values).tolist() == [True, False, True, True]
    assert Categorical(4).out_of_domain(values).tolist() == [True, False, False, True]


def test_fields_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Real().low = 3.0  # type: ignore[misc]


def test_field_errors() -> None:
    with fails("A field is either action=True or static=True, not both."):
        Real(action=True, static=True)
    with fails("Real: unknown likelihood 'categorical'. Expected one of: auto, normal, mixture."):
        Real(likelihood="categorical")
    with fails("Boolean: unknown likelihood 'poisson'. Expected one of: categorical, normal."):
        Boolean(likelihood="poisson")
    with fails(
        "Integer: unknown likelihood 'x'. Expected one of: auto, normal, mixture, categorical."
    ):
        Integer(likelihood="x")
    with fails("Categorical: unknown likelihood 'normal'. Expected one of: categorical."):
        Categorical(3, likelihood="normal")
    with fails('Integer: likelihood="categorical" needs both low and high.'):
        Integer(low=0, likelihood="categorical")
    with fails("Categorical: expected at least 2 values, got 1."):
        Categorical(1)
    with fails("Categorical: expected at least 2 values, got 0."):
        Categorical([])  # type: ignore[arg-type]
    with fails("Categorical: value names must differ, got ['a', 'b', 'a']."):
        Categorical(["a", "b", "a"])  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Real, Integer])
def test_numeric_field_errors(kind: Any) -> None:
    name, two = kind.__name__, kind(2).low
    with fails(f"Field bounds: expected low < high, got low={two}, high={two}."):
        kind(2, 2)
    for low in ("three", True, float("nan"), float("inf"), 10**400, [0]):
        with pytest.raises(SchemaError, match=f"^{name}: `low`: expected a .*number.*, got "):
            kind(low=low)
    with fails("Field shape: expected () or one positive length such as (3,), got (2, 3)."):
        kind(shape=(2, 3))
    for length in (0, -1, 1.5):
        with fails(f"{name}: `shape[0]`: expected a whole number of at least 1, got {length!r}."):
            kind(shape=(length,))
    with fails(f"{name}: `shape`: expected a list, got True."):
        kind(shape=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Real(action="no"), "Real: `action`: expected true or false, got 'no'."),
        (lambda: Boolean(static=1), "Boolean: `static`: expected true or false, got 1."),
        (lambda: Categorical("red"), "Categorical: `values`: expected a whole number or a list, "
                                     "got 'red'."),
        (lambda: Categorical(["red", 1]), "Categorical: `values[1]`: expected text, got 1."),
        (lambda: Integer(0.5, 2.5), "Integer: 2 problems:\n"
                                    "- `low`: expected a whole number or None, got 0.5.\n"
                                    "- `high`: expected a whole number or None, got 2.5."),
        (lambda: Real(likelihood=None), "Real: `likelihood`: expected text, got None."),
    ],
)  # fmt: skip
def test_options_of_the_wrong_type(make: Any, message: str) -> None:
    with fails(message):
        make()


def test_numbers_of_numpy_become_those_of_python() -> None:
    field = Integer(np.int64(0), np.int64(3))
    assert (type(field.low), type(field.high)) == (int, int)


def test_errors_of_field_json() -> None:
    with fails("Unknown field kind `rael`. Did you mean `real`? Known: real, integer, "
               "categorical, boolean."):  # fmt: skip
        field_from_json({"kind": "rael"})
    with fails("Unknown field kind ``. Known: real, integer, categorical, boolean."):
        field_from_json({})
    with pytest.raises(SchemaError, match=r"^Field of kind `real`: there is no `lowest`\."):
        field_from_json({"kind": "real", "lowest": 3})
    with fails("Field of kind `real`: `low`: expected a number or None, got 'three'."):
        field_from_json({"kind": "real", "low": "three"})
    with fails("Field of kind `integer`: Field bounds: expected low < high, got low=3, high=1."):
        field_from_json({"kind": "integer", "low": 3, "high": 1})


# ---------------------------------------------------------------- classes and schemas


class Block(ObjectClass):
    s1 = Real()
    a = Real(action=True)
    size = Real(static=True)


class Total(ObjectClass):
    s1 = Real()


def test_fields_keep_their_order_and_their_roles() -> None:
    schema = Schema(Block, Total)
    assert list(schema.classes) == ["Block", "Total"]
    assert list(schema.fields("Block")) == ["s1", "a", "size"]
    assert schema.targets("Block") == Block.targets() == ("s1",)
    assert schema.field("Block", "a") == Real(action=True)
    assert repr(schema) == "Schema(Block(s1, a [action], size [static]), Total(s1))"


def test_a_subclass_inherits_fields_and_may_replace_them() -> None:
    class Heavy(Block):
        mass = Real()
        s1 = Integer()

    assert list(Heavy.fields) == ["s1", "a", "size", "mass"]
    assert Heavy.fields["s1"] == Integer()
    assert Block.fields["s1"] == Real()


def test_what_is_not_a_field_is_not_in_the_schema() -> None:
    class Ball(ObjectClass):
        radius = 3
        x = Real()

    assert list(Ball.fields) == ["x"]


def test_schemas_are_equal_by_content_and_order() -> None:
    def named(**fields: Field) -> type[ObjectClass]:
        return type("Block", (ObjectClass,), fields)

    a, b = named(x=Real(), y=Real()), named(x=Real(), y=Real())
    assert Schema(a) == Schema(b) and hash(Schema(a)) == hash(Schema(b))
    assert Schema(a) != Schema(named(y=Real(), x=Real()))
    assert Schema(a) != Schema(a, Total) and Schema(a, Total) != Schema(Total, a)
    assert Schema(a) != "Schema"
    assert Schema(named(x=Real(low=0))) == Schema(named(x=Real(low=0.0)))
    assert hash(Schema(named(x=Real(low=0)))) == hash(Schema(named(x=Real(low=0.0))))
    assert Schema(named(x=Real())) != Schema(named(x=Integer(likelihood="normal")))


def test_likelihoods_make_no_difference() -> None:
    lamp = {"x": Real(), "n": Integer(0, 7), "on": Boolean(), "kind": Categorical(3)}
    schema = Schema(type("Lamp", (ObjectClass,), lamp))
    normal = schema.with_likelihood("normal")
    assert schema.likelihoods == ("auto", "categorical", "categorical", "categorical")
    assert normal.likelihoods == ("normal", "normal", "normal", "categorical")
    assert normal == schema and hash(normal) == hash(schema)
    assert schema.difference(normal) is None
    assert Schema.from_json(normal.to_json()).likelihoods == normal.likelihoods
    assert Schema(type("Lamp", (ObjectClass,), {"n": Integer()})).with_likelihood(
        "categorical"
    ).likelihoods == ("auto",)  # there are no codes to choose from
    with fails(
        "Unknown likelihood `normla`. Did you mean `normal`? Known: " + ", ".join(LIKELIHOODS) + "."
    ):
        schema.with_likelihood("normla")


def test_comparing_and_hashing_do_no_work_again(monkeypatch: pytest.MonkeyPatch) -> None:
    schema, twin = Schema(Block, Total), Schema(Block, Total)
    other = Schema.from_json(Schema(Total).to_json())

    def refuse(*args: Any) -> None:
        raise AssertionError("this was known already")

    for method in ("to_json", "__eq__", "__hash__"):
        for kind in (Field, Real):
            monkeypatch.setattr(kind, method, refuse)
    monkeypatch.setattr(Schema, "to_json", refuse)
    assert len({schema, twin, other}) == 2
    assert schema == twin and schema.difference(twin) is None
    assert schema != other


def test_copies_are_equal() -> None:
    schema = Schema(Block, Total)
    assert copy.deepcopy(schema) is schema
    back = pickle.loads(pickle.dumps(schema))
    assert back == schema and hash(back) == hash(schema) and back is not schema


def test_difference_in_words() -> None:
    other = type("Block", (ObjectClass,), {"s1": Real(low=0), "a": Real(), "size": Real()})
    assert Schema(Block, Total).difference(Schema(Total, Block)) == (
        "classes ['Block', 'Total'] against ['Total', 'Block']"
    )
    assert Schema(Total).difference(Schema(type("Total", (ObjectClass,), {"s2": Real()}))) == (
        "fields of Total: ['s1'] against ['s2']"
    )
    assert Schema(Block).difference(Schema(other)) == (
        'field Block.s1: {"kind": "real", "action": false, "static": false, "low": null, '
        '"high": null, "shape": []} against {"kind": "real", "action": false, "static": false, '
        '"low": 0, "high": null, "shape": []}'
    )


@pytest.mark.parametrize("name", ["steps", "Episodes"])
def test_classes_whose_tables_would_be_those_of_every_dataset(name: str) -> None:
    same = f"Class `{name}`: its table would have the same file as the table `{name.lower()}` of "
    with fails(same + "every dataset. Choose another name."):
        Schema(type(name, (ObjectClass,), {"x": Real()}))


def test_classes_whose_tables_some_systems_cannot_tell_apart() -> None:
    with fails(
        "Class `BLOCK`: its table would have the same file as that of the class `Block`. Choose "
        "another name."
    ):
        Schema(Block, type("BLOCK", (ObjectClass,), {"x": Real()}))


def test_schema_errors() -> None:
    with fails("Schema: expected at least one class, got none."):
        Schema()
    with fails("Schema: class names must differ, got ['Block', 'Block']."):
        Schema(Block, type("Block", (ObjectClass,), {"x": Real()}))
    with fails("Schema: expected subclasses of oocdm.ObjectClass, got <class 'int'>."):
        Schema(int)  # type: ignore[arg-type]
    with fails("Class `Nothing` has no fields. Assign field types in its body."):
        Schema(type("Nothing", (ObjectClass,), {}))
    with fails("Schema: no class has a state field, so there is nothing to predict."):
        Schema(type("Push", (ObjectClass,), {"a": Real(action=True), "m": Real(static=True)}))


@pytest.mark.parametrize("wrong", [3, "Block", Block()])
def test_what_is_not_a_class_is_no_part_of_a_schema(wrong: Any) -> None:
    with pytest.raises(
        SchemaError, match=r"^Schema: expected subclasses of oocdm\.ObjectClass, got "
    ):
        Schema(Block, wrong)


@pytest.mark.parametrize("name", ["episode", "step", "object", "self"])
def test_names_of_data_columns_are_reserved(name: str) -> None:
    with fails(f"Class `Ball`: the name `{name}` is reserved for data columns."):
        Schema(type("Ball", (ObjectClass,), {name: Real()}))


@pytest.mark.parametrize("name", ["two words", "1st", "class", "_hidden", "a.b", ""])
def test_names_must_be_usable(name: str) -> None:
    with fails(f"Class `Ball`: `{name}` is not a usable name."):
        Schema(type("Ball", (ObjectClass,), {name: Real()}))
    if name:
        with fails(f"Class `{name}`: `{name}` is not a usable name."):
            Schema(type(name, (ObjectClass,), {"x": Real()}))


@pytest.mark.parametrize("name", ["targets", "fields"])
def test_a_field_may_have_the_name_of_a_method(name: str) -> None:
    cls = type("Archer", (ObjectClass,), {"x": Real(), name: Real()})
    assert Schema(cls).targets("Archer") == ("x", name)
    assert Schema.from_json(Schema(cls).to_json()) == Schema(cls)


def test_unknown_names_get_a_suggestion() -> None:
    schema = Schema(Block, Total)
    for ask in (schema.fields, schema.targets, lambda c: schema.field(c, "s1")):
        with fails("Unknown class `Blok`. Did you mean `Block`? Known: Block, Total."):
            ask("Blok")
    with fails("Unknown field `Block.s2`. Did you mean `s1`? Known: s1, a, size."):
        schema.field("Block", "s2")
    with fails("Unknown field `Total.temperature`. Known: s1."):
        schema.field("Total", "temperature")


def test_names_are_split_into_class_and_field() -> None:
    schema = Schema(Block, Total)
    assert schema.split("Total.s1") == schema.split(("Total", "s1")) == ("Total", "s1")
    with fails("Unknown class `Blok`. Did you mean `Block`? Known: Block, Total."):
        schema.split("Blok.s1")
    with fails("Unknown class `Block[0]`. Did you mean `Block`? Known: Block, Total."):
        schema.split("Block[0].s1")
    with fails("Unknown field `Block.s2`. Did you mean `s1`? Known: s1, a, size."):
        schema.split("Block.s2")
    with fails(
        "Field name: expected `Class.field`, such as `Block.s1`, got 'Total'. Did you mean "
        "`Total.s1`? Known: Block.s1, Block.a, Block.size, Total.s1."
    ):
        schema.split("Total")


@pytest.mark.parametrize("wrong", ["", "Block", "Block.s1.x", 3, ("Block",), ("Block", 0), None])
def test_what_is_no_name_of_a_field_is_refused(wrong: Any) -> None:
    message = f"Field name: expected `Class.field`, such as `Block.s1`, got {wrong!r}. "
    with pytest.raises(SchemaError, match=f"^{re.escape(message)}"):
        Schema(Block, Total).split(wrong)


def test_errors_of_schema_json() -> None:
    for wrong in ({}, {"classes": []}, {"classes": None}):
        with fails('Schema: expected a JSON object with the key "classes".'):
            Schema.from_json(wrong)
    with fails("Schema: expected at least one class, got none."):
        Schema.from_json({"classes": {}})
    with fails("Class `Block` has no fields. Assign field types in its body."):
        Schema.from_json({"classes": {"Block": {}}})
    with pytest.raises(SchemaError, match=r"^Unknown field kind `reel`"):
        Schema.from_json({"classes": {"Block": {"x": {"kind": "reel"}}}})


@pytest.mark.parametrize("wrong", [{"Block": ["x"]}, {"Block": {"x": "real"}}, {"Block": {"x": 3}}])
def test_malformed_schema_json(wrong: Any) -> None:
    with pytest.raises(SchemaError, match="Block"):
        Schema.from_json({"classes": wrong})


@pytest.mark.parametrize(
    ("make", "limit", "got"),
    [
        (lambda: Real(-1e300, 1e300), "-1e+18 to 1e+18", "-1e+300"),
        (lambda: Integer(high=2**63 - 1), f"{-(2**53)} to {2**53}", str(2**63 - 1)),
    ],
)
def test_bounds_beyond_what_models_reckon_with_are_refused(make, limit, got):
    with pytest.raises(SchemaError) as error:
        make()
    assert str(error.value) == (
        f"Field bounds: expected numbers from {limit}, or None for an open end, got {got}. Choose "
        "another unit if values are as large."
    )
    Real(-1e18, 1e18), Integer(-(2**53), 2**53)
