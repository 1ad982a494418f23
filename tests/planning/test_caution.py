"""Plans that avoid what the model does not know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.graph import ClassGraph, Graph
from oocdm.models.copies import Copies
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prediction import Predictions
from oocdm.planning import CEM, MPC, LearnedSimulator
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.task import Task

KNOWN = 0.4  # further pushes were never seen


class Ball(ObjectClass):
    x = Real()
    push = Real(-1.0, 1.0, action=True)


SCHEMA = Schema(Ball)
torch.manual_seed(0)
MODEL = OocdmModel(SCHEMA, ModelOptions(encoding_dim=3, local_dim=4, decoder_dim=4))
GRAPH = ClassGraph.full(SCHEMA)
STATE = Snapshot.of(SCHEMA, {"Ball": {"x": torch.zeros(1, 1)}})


def earned(before: Snapshot, after: Snapshot) -> torch.Tensor:
    return before["Ball", "push"].sum(1) + 0 * after["Ball", "x"].sum(1)


TASK = Task(reward=earned, reads=["Ball.push", "Ball.x"])


@dataclass
class Elsewhere:
    """A copy that says otherwise after large pushes."""

    away: float

    def compile_for(self, graph: Graph) -> Any:
        predict = MODEL.compile_for(graph)

        def other(before: Snapshot) -> Predictions:
            found = predict(before)
            is_large = (before["Ball", "push"].abs() > KNOWN).float()[..., None, None]
            ball = found.classes["Ball"]
            moved = replace(ball, mean=ball.mean + self.away * is_large)
            return Predictions(SCHEMA, {"Ball": moved})

        return other


def result(copies: Copies | None) -> Any:
    return SimpleNamespace(model=MODEL, graph=GRAPH, copies=copies)


one = torch.ones(1, 1)
COPIES = Copies((Elsewhere(3.0), Elsewhere(-3.0)), {"Ball": 0 * one}, {"Ball": 2 * one})  # type: ignore[arg-type]


def pushed(by: float) -> Snapshot:
    return STATE.joined({"Ball": {"push": torch.full((1, 1), by)}})


def test_a_step_into_the_unknown_earns_less() -> None:
    simulator = LearnedSimulator(result(COPIES), TASK, caution=0.5)
    usual = float(MODEL.heads["Ball"].usual_change())
    for push, doubt in ((0.3, 0.0), (0.9, 6.0 / usual)):
        before = pushed(push)
        reward = simulator.reward(before, simulator.step(before, 0))
        assert reward.item() == pytest.approx(push - 0.5 * doubt)
        assert simulator.dynamics.doubt(before).item() == pytest.approx(doubt)


@pytest.mark.parametrize(("caution", "low", "high"), [(0.0, 0.9, 1.0), (10.0, 0.2, KNOWN)])
def test_cautious_plans_stay_where_data_were(caution: float, low: float, high: float) -> None:
    planner = CEM(horizon=2, iterations=8, samples=60, elites=8)
    agent = MPC(result(COPIES), TASK, planner, caution=caution)
    agent.reset(1)
    assert low <= agent.act(STATE)["Ball"]["push"].item() <= high


@pytest.mark.parametrize("prune", [False, True])
def test_without_caution_copies_change_nothing(prune: bool) -> None:
    def plan(copies: Copies | None) -> float:
        agent = MPC(
            result(copies), TASK, CEM(horizon=2, iterations=2, samples=20, elites=5), prune=prune
        )
        agent.reset(1)
        return agent.act(STATE)["Ball"]["push"].item()

    assert plan(COPIES) == plan(None)


def test_caution_needs_copies() -> None:
    with pytest.raises(
        PlanError, match="`caution`: expected 0 with a result without copies, got 1"
    ):
        MPC(result(None), TASK, caution=1.0)
    with pytest.raises(PlanError, match="caution"):
        MPC(result(COPIES), TASK, caution=-1.0)
