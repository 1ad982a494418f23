"""MPPI is a weighted mean of samples."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from oocdm.data.snapshot import Snapshot
from oocdm.planning import MPPI
from oocdm.schema import Categorical, Integer, ObjectClass, Real, Schema
from tests.planning.toys import GOALS, Robots, generators

ONCE = MPPI(horizon=1, iterations=1, samples=30, temperature=0.1)


def test_one_iteration_by_hand() -> None:
    simulator = Robots("push")
    state = simulator.state({"push": torch.tensor([[0.6]])})
    plan = ONCE.plan(simulator, state, generator=generators(0))
    noise = torch.randn(30, 1, 1, generator=torch.Generator().manual_seed(0))
    drawn = (0.5 * noise).clamp(-1, 1).flatten().double()
    weights = (-(0.6 - drawn).square() / 0.1).softmax(0)
    expected = float((weights * drawn).sum())
    assert float(plan.actions["Robot"]["push"]) == pytest.approx(expected, abs=1e-5)
    # The value is that of the mean itself, which none of the samples is.
    assert float(plan.value) == pytest.approx(-((0.6 - expected) ** 2), abs=1e-5)
    assert simulator.rows == [30, 1]


def test_the_most_probable_choice_is_made() -> None:
    simulator = Robots("paint", "open")
    plan = ONCE.plan(simulator, simulator.state(GOALS), generator=generators(0, 1))
    for name in ("paint", "open"):
        assert torch.equal(plan.actions["Robot"][name], GOALS[name])


def test_whole_numbers_are_rounded() -> None:
    simulator = Robots("climb")
    planner = replace(ONCE, iterations=10)
    plan = planner.plan(simulator, simulator.state(GOALS), generator=generators(0, 1))
    assert torch.equal(plan.actions["Robot"]["climb"], GOALS["climb"])


def test_the_spread_stays() -> None:
    simulator = Robots("push")
    plan = ONCE.plan(simulator, simulator.state(GOALS), generator=generators(0, 1))
    assert plan.warm is not None
    assert (plan.warm.belief.sd == 0.5).all()


@pytest.mark.parametrize("temperature", [1e-300, 1e29])
def test_extreme_temperatures(temperature: float) -> None:
    simulator = Robots("push")
    planner = replace(ONCE, temperature=temperature)
    plan = planner.plan(simulator, simulator.state(GOALS), generator=generators(0, 1))
    assert plan.actions["Robot"]["push"].isfinite().all()


def test_choices_go_on_being_explored() -> None:
    """A lock of eight steps: with the first good tries alone some values would never be seen."""

    class Lock(ObjectClass):
        turn = Integer()
        hits = Real()
        pick = Categorical(5, action=True)

    code = torch.tensor([3, 1, 4, 1, 0, 2, 3, 3])

    class Locks:
        schema = Schema(Lock)

        def step(self, before: Snapshot, seed: int) -> Snapshot:
            turn, pick = before["Lock", "turn"], before["Lock", "pick"]
            values = {"turn": turn + 1, "hits": (pick == code[turn.clamp(max=7)]).float()}
            return Snapshot.of(self.schema, {"Lock": values}, before.present)

        def reward(self, before: Snapshot, after: Snapshot) -> torch.Tensor:
            return after["Lock", "hits"].sum(1)

        def terminated(self, after: Snapshot) -> torch.Tensor:
            return torch.zeros(after.batch_size, dtype=torch.bool)

    state = Snapshot.of(Schema(Lock), {"Lock": {"turn": [[0]], "hits": [[0.0]]}})
    planner = MPPI(horizon=8, iterations=20, samples=200, discount=1.0, temperature=0.1)
    found = [float(planner.plan(Locks(), state, generator=generators(i)).value) for i in range(3)]
    assert found == [8.0, 8.0, 8.0]
