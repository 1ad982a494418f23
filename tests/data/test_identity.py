"""A field that says which object is which."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oocdm import Categorical, DataError, collect, load_dataset, make
from tests.inference.ragged import ragged
from tests.methods.differing import balls

DATA = ragged()


def test_each_object_has_the_number_of_its_place(tmp_path: Path) -> None:
    data = DATA.with_identity()
    for c in ("Ant", "Rock", "Nest"):
        field = data.schema.field(c, "identity")
        assert isinstance(field, Categorical) and field.static
        assert field.num_codes == DATA.present[c].any(0).nonzero()[0].max() + 1
        assert list(data.schema.fields(c)) == [*DATA.schema.fields(c), "identity"]
        numbers = np.where(DATA.present[c], np.arange(DATA.present[c].shape[1]), 0)
        assert np.array_equal(data.values[c]["identity"], numbers)
        assert np.array_equal(data.observed[c]["identity"], DATA.present[c])
        for f, values in DATA.values[c].items():
            assert np.array_equal(data.values[c][f], values)
    data.save(tmp_path / "data")
    assert load_dataset(tmp_path / "data").schema == data.schema


def test_a_single_object_needs_none() -> None:
    data = collect(make("block", num_blocks=2), steps=60, seed=0).with_identity("number")
    assert "number" in data.schema.fields("Block")
    assert data.schema.fields("Total").keys() == {"s1", "s2", "s3", "t"}


def test_data_with_fewer_objects_can_have_the_same_field() -> None:
    few, many = balls(0, 2, ("a", "b")), balls(0, 2)
    assert few.with_identity(counts={"Ball": 3}).schema == many.with_identity().schema
    assert few.with_identity().schema != many.with_identity().schema


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"name": "push"},
            "with_identity: class `Ball`: expected no field `push`, but it has one. Choose another "
            "name, such as with_identity('number').",
        ),
        (
            {"counts": {"Ball": 2}},
            "with_identity: counts['Ball']: expected a whole number of at least 3, as many objects "
            "as the data have, got 2.",
        ),
        (
            {"counts": {"Bal": 3}},
            "with_identity: unknown class `Bal`. Did you mean `Ball`? Known: Ball.",
        ),
    ],
)
def test_what_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        balls(0, 2).with_identity(**given)


def test_objects_without_steady_names_have_no_numbers() -> None:
    message = r"^with_identity: expected the same objects of class `Ball` in every episode, got `b`"
    with pytest.raises(DataError, match=message):
        balls(0, 2, others=("a", "x", "y")).with_identity()
