"""Results, data and states that functions are given."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oocdm.errors import DataError, ModelError, PlanError
from oocdm.graph import ClassGraph
from oocdm.inference.fitted import check_fit, checked_data, checked_result, checked_state
from oocdm.schema import ObjectClass, Real, Schema
from tests.inference.ragged import ragged, random_model

DATA = ragged(is_whole=True)
RESULT = SimpleNamespace(model=random_model(DATA), graph=ClassGraph.full(DATA.schema))
STATE = DATA.transitions(slice(0, 1)).before


def test_what_is_right_is_given_back() -> None:
    assert checked_result("evaluate", RESULT) is RESULT
    assert checked_data("evaluate", DATA) is DATA
    assert checked_state("rollout", STATE, ModelError) is STATE


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("runs/x", "got str 'runs/x'. Load it: oocdm.load('runs/x')."),
        (
            SimpleNamespace(model=RESULT.model),
            "got SimpleNamespace. Give what oocdm.fit or oocdm.load returned: it has a model and "
            "its graph.",
        ),
    ],
)
def test_what_is_no_result(given: Any, message: str) -> None:
    expected = f"evaluate: `result`: expected a fitted result, {message}"
    with pytest.raises(ModelError, match=f"^{re.escape(expected)}$"):
        checked_result("evaluate", given)


def test_what_is_no_dataset() -> None:
    path = Path("data/x")
    expected = (
        f"fit: `data`: expected an oocdm.Dataset, got {type(path).__name__} 'data/x'. Load it: "
        "oocdm.load_dataset('data/x')."
    )
    with pytest.raises(DataError, match=f"^{re.escape(expected)}$"):
        checked_data("fit", path)  # type: ignore[arg-type]


def test_a_dataset_is_no_state() -> None:
    expected = (
        "plan: `state`: expected an oocdm.Snapshot, got Dataset. Take states from it, such as "
        "data.transitions(slice(0, 1)).before."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(expected)}$"):
        checked_state("plan", DATA, PlanError)  # type: ignore[arg-type]


def test_data_have_the_schema_of_the_model() -> None:
    class Nest(ObjectClass):
        food = Real(low=0.0)

    check_fit("evaluate", RESULT, DATA)
    with pytest.raises(DataError, match=r"^This dataset does not fit the model\."):
        check_fit("evaluate", RESULT, ragged(Schema(Nest)))


def test_data_have_the_objects_that_a_model_knows() -> None:
    names = np.array([["a", "b", "c", "d"]] * DATA.num_episodes, dtype=object)
    named = replace(DATA, object_ids={**DATA.object_ids, "Ant": names})
    knows = SimpleNamespace(**vars(RESULT), objects={"Ant": ["a", "b", "c", "d"]})
    check_fit("evaluate", knows, named)
    check_fit("evaluate", SimpleNamespace(**vars(RESULT), objects=None), named)
    knows.objects["Ant"][1] = "z"
    message = "^evaluate: expected object `z` of class `Ant` at place 1"
    with pytest.raises(DataError, match=message):
        check_fit("evaluate", knows, named)
