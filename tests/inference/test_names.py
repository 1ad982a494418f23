"""Variables as people name them."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from oocdm.data import Dataset
from oocdm.errors import DataError, GraphError, SchemaError
from oocdm.graph import Variable
from oocdm.inference.names import place_hint, read_variable
from oocdm.schema import ObjectClass, Real, Schema


class Light(ObjectClass):
    x = Real()


def lights(*episodes: list[str] | list[int]) -> Dataset:
    """Episodes 0, 10, ... of two steps, with the lights of these names."""
    rows = [
        (10 * i, step, name)
        for i, names in enumerate(episodes)
        for step in range(2)
        for name in names
    ]
    frame = pd.DataFrame(rows, columns=["episode", "step", "object"]).assign(x=0.0)
    return Dataset.from_frames({"Light": frame}, Schema(Light))


NAMED = lights(["L0", "L 1"], ["M"])


def test_names_are_those_of_the_episode() -> None:
    # Names are sorted, and a blank comes before a digit.
    assert read_variable("do", "Light[L0].x", NAMED, 0) == Variable("Light", 1, "x")
    assert read_variable("do", "Light[L 1].x", NAMED, 0) == Variable("Light", 0, "x")
    assert read_variable("do", "Light[1].x", NAMED, 0) == Variable("Light", 1, "x")
    assert read_variable("do", "Light[M].x", NAMED, 10) == Variable("Light", 0, "x")
    message = (
        "do `Light[L0].x`: episode 10 has no object that was logged as `L0`. Known: M. Or give "
        "its place, as in `Light[0]`; data.object_ids['Light'] says who stands where."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        read_variable("do", "Light[L0].x", NAMED, 10)


def test_a_number_is_a_place() -> None:
    numbered = lights([7, 3])
    assert read_variable("do", "Light[7].x", numbered, 0) == Variable("Light", 7, "x")
    assert place_hint(numbered, Variable("Light", 7, "x"), 0) == (
        " Objects are numbered by place: what was logged as 7 is Light[1]."
    )
    assert place_hint(numbered, Variable("Light", 5, "x"), 0) == ""
    assert place_hint(lights([0, 1]), Variable("Light", 1, "x"), 0) == ""
    assert place_hint(numbered, Variable("Light", 7, "x"), 99) == ""  # no such episode


@pytest.mark.parametrize("name", ["Light.x", "Light[].x", "Light[L0]", 3])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(GraphError, match=re.escape(f"Variable `{name}`: expected the form")):
        read_variable("do", name, NAMED, 0)


def test_an_unknown_class() -> None:
    with pytest.raises(SchemaError, match=r"^Unknown class `Lamp`\."):
        read_variable("do", "Lamp[L0].x", NAMED, 0)
