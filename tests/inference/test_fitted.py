"""Results, data and states that functions are given."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import oocdm
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


# ---------------------------------------------------------------- what predicts

MODEL = RESULT.model
CLAIMED = ClassGraph.parse(DATA.schema, ["Ant.x <- self.x", "Nest.food <- self.food"])
MORE = ClassGraph.parse(DATA.schema, ["Ant.x <- self.x, self.push", "Nest.food <- self.food"])
BOTH: Any = SimpleNamespace(model=MODEL, graph=CLAIMED, prediction_graph=MORE)
PAIRS: dict[str, Any] = {
    "claimed": SimpleNamespace(model=MODEL, graph=CLAIMED),
    "more": SimpleNamespace(model=MODEL, graph=MORE),
}
ACTIONS = {"Ant": {"push": torch.ones(2, *STATE.present["Ant"].shape)}}
DO = {"Ant[0].push": 2.0}


def drawn(result: Any, **options: Any) -> torch.Tensor:
    return oocdm.rollout(result, STATE, ACTIONS, samples=3, **options).values("Ant.x")


def imagined(result: Any, **options: Any) -> list[str]:
    found = oocdm.counterfactual(result, DATA, 0, 0, DO, horizon=1, **options)
    return [str(change) for change in found.changes()]


def stepped(result: Any, **options: Any) -> torch.Tensor:
    return oocdm.Dynamics(result, **options).step(STATE, seed=0)["Ant.x"]


def scored(result: Any, **options: Any) -> float:
    return oocdm.evaluate(result, DATA, **options).aill


@pytest.mark.parametrize("ask", [drawn, imagined, stepped, scored])
def test_a_result_predicts_with_its_prediction_graph_or_the_one_given(ask: Any) -> None:
    def same(one: Any, other: Any) -> bool:
        return torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other

    claimed, more = ask(PAIRS["claimed"]), ask(PAIRS["more"])
    assert not same(claimed, more)
    assert same(ask(BOTH), more)
    assert same(ask(BOTH, graph=CLAIMED), claimed)
    assert same(ask(PAIRS["claimed"], graph=MORE), more)


def test_no_reason_is_an_edge_that_merely_predicts() -> None:
    def reasons(result: Any, step: int) -> set[str]:
        found = oocdm.explain(result, DATA, 2, step, "Ant[0].x", depth=1)
        return {str(reason.variable) for reason in found.reasons}

    steps = [step for step in range(8) if "Ant[0].push" in reasons(PAIRS["more"], step)]
    assert steps  # where it would be one, were it claimed
    assert all("Ant[0].push" not in reasons(BOTH, step) for step in steps)


def test_plans_are_made_with_what_predicts() -> None:
    task = oocdm.Task(reward=lambda before, after: after["Ant.x"].sum(1), reads=["Ant.x"])
    after = [
        oocdm.LearnedSimulator(r, task, 3).step(STATE, 0)["Ant.x"] for r in (BOTH, *PAIRS.values())
    ]
    assert torch.equal(after[0], after[2]) and not torch.equal(after[0], after[1])
