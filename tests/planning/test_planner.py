"""What holds of every planner: it finds known optima, and worlds do not see each other."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.planning import CEM, ICEM, MPPI, Plan, Planner
from oocdm.planning.warm import WarmStart
from oocdm.schema import Boolean, ObjectClass, Real, Schema
from tests.planning.toys import ACTIONS, GOALS, Robots, generators

PLANNERS: dict[str, Planner] = {
    "CEM": CEM(horizon=3, iterations=12, samples=300, elites=30, smoothing=0.1),
    "ICEM": ICEM(horizon=3, iterations=12, samples=600, elites=60, decay=1.1),
    "MPPI": MPPI(horizon=2, iterations=20, samples=400, temperature=0.5),
}
QUICK: dict[str, Planner] = {
    "CEM": CEM(horizon=3, iterations=2, samples=20, elites=5, smoothing=0.1),
    "ICEM": ICEM(horizon=3, iterations=3, samples=20, elites=5),
    "MPPI": MPPI(horizon=3, iterations=2, samples=20),
}
every_planner = pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)
every_quick_planner = pytest.mark.parametrize("planner", QUICK.values(), ids=QUICK)


def rows(goals: dict[str, torch.Tensor], *worlds: int) -> dict[str, torch.Tensor]:
    return {name: goal[list(worlds)] for name, goal in goals.items()}


def assert_equal(first: Plan, second: Plan) -> None:
    for c, fields in first.actions.items():
        for f, value in fields.items():
            assert torch.equal(value, second.actions[c][f]), f"{c}.{f}"
    assert torch.equal(first.value, second.value)


# ---------------------------------------------------------------- optima


@every_planner
@pytest.mark.parametrize("actions", [[name] for name in ACTIONS] + [["push", "climb", "open"]])
def test_finds_the_optimum(planner: Planner, actions: list[str]) -> None:
    simulator = Robots(*actions)
    # MPPI's spread stays wide, so it is only roughly right.
    near = 0.25 if isinstance(planner, MPPI) else 0.1
    plan = planner.plan(simulator, simulator.state(GOALS), generator=generators(0, 1))
    for name in actions:
        found, goal = plan.actions["Robot"][name], GOALS[name]
        assert found.dtype == goal.dtype and found.shape == goal.shape
        assert torch.allclose(found.float(), goal.float(), atol=near), name
    assert plan.value.shape == (2,) and (plan.value > -0.2).all()


@every_quick_planner
def test_equal_seeds_give_equal_plans(planner: Planner) -> None:
    simulator = Robots(*ACTIONS)
    state = simulator.state(GOALS)
    first, again, other = (
        planner.plan(simulator, state, generator=torch.Generator().manual_seed(seed))
        for seed in (0, 0, 1)
    )
    assert_equal(first, again)
    assert not torch.equal(first.actions["Robot"]["push"], other.actions["Robot"]["push"])


# ---------------------------------------------------------------- who acts


@every_quick_planner
def test_those_that_do_not_act_have_no_influence(planner: Planner) -> None:
    """A dead and an absent robot beside one that acts: as if it were alone."""
    simulator = Robots(*ACTIONS)
    # Idle robots lose nothing here, so that sums of rewards are equal to the last bit.
    three = {n: torch.cat([0 * goal, goal[:, :1]], 1)[:1] for n, goal in GOALS.items()}
    present = torch.tensor([[True, False, True]])
    can_act = {"Robot": torch.tensor([[False, True, True]])}
    state = simulator.state(three, present)
    plan = planner.plan(simulator, state, can_act, generator=generators(0))
    last = {name: goal[:, 2:] for name, goal in three.items()}
    alone = planner.plan(simulator, simulator.state(last), generator=generators(0))
    for name, found in plan.actions["Robot"].items():
        assert (found[:, :2] == 0).all()
        assert torch.equal(found[:, 2:], alone.actions["Robot"][name])


@every_quick_planner
def test_nobody_acts(planner: Planner) -> None:
    simulator = Robots(*ACTIONS)
    state = simulator.state(GOALS)
    none = {"Robot": torch.zeros(2, 2, dtype=torch.bool)}
    warm: WarmStart | None = None
    for _ in range(2):
        plan = planner.plan(simulator, state, none, warm, generator=generators(0, 1))
        assert all((value == 0).all() for value in plan.actions["Robot"].values())
        assert plan.value.isfinite().all()
        warm = plan.warm


# ---------------------------------------------------------------- batches


@every_quick_planner
@pytest.mark.parametrize("is_warm", [False, True])
def test_a_batch_is_planned_as_its_worlds_alone(planner: Planner, is_warm: bool) -> None:
    simulator = Robots(*ACTIONS)
    present = torch.tensor([[True, True], [False, True]])
    state = simulator.state(GOALS, present)
    together = planner.plan(simulator, state, generator=generators(3, 4))
    if is_warm:
        together = planner.plan(simulator, state, warm=together.warm, generator=generators(5, 6))
    for world in range(2):
        one = simulator.state(rows(GOALS, world), present[[world]])
        alone = planner.plan(simulator, one, generator=generators(3 + world))
        if is_warm:
            again = generators(5 + world)
            alone = planner.plan(simulator, one, warm=alone.warm, generator=again)
        for name, found in together.actions["Robot"].items():
            assert torch.equal(found[[world]], alone.actions["Robot"][name]), name
        assert torch.equal(together.value[[world]], alone.value)


@every_quick_planner
def test_the_warm_start_of_one_world_changes_nothing_for_others(planner: Planner) -> None:
    simulator = Robots(*ACTIONS)
    first = planner.plan(simulator, simulator.state(GOALS), generator=generators(3, 4))
    assert first.warm is not None
    new = simulator.state(rows(GOALS, 1))
    alone = planner.plan(simulator, new, generator=generators(6))
    partly = first.warm.select(torch.tensor([0, -1]))
    both = simulator.state(GOALS)
    beside = planner.plan(simulator, both, warm=partly, generator=generators(5, 6))
    for name, found in beside.actions["Robot"].items():
        assert torch.equal(found[[1]], alone.actions["Robot"][name]), name


# ---------------------------------------------------------------- warm start


@every_planner
def test_a_warm_start_needs_fewer_iterations(planner: Planner) -> None:
    """One iteration from the plan before gets nearer to the optimum than three from nothing."""
    simulator = Robots("push", "climb", "paint")
    # Further than one step reaches, so that there is something to go on with; and a horizon of
    # which most is carried over.
    goals = {**GOALS, "push": torch.full((2, 2), 4.0), "climb": torch.full((2, 2), -12)}
    later = {**GOALS, "push": torch.full((2, 2), 3.0), "climb": torch.full((2, 2), -9)}
    planner = replace(planner, horizon=4)
    warm = planner.plan(simulator, simulator.state(goals), generator=generators(0, 1)).warm
    state = simulator.state(later)

    def value(iterations: int, start: WarmStart | None) -> torch.Tensor:
        short = replace(planner, iterations=iterations)
        return short.plan(simulator, state, warm=start, generator=generators(2, 3)).value

    assert (value(1, warm) > value(1, None) + 10).all()
    assert (value(1, warm) > value(3, None)).all()


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            CEM,
            {"horizon": 0},
            "CEM: `horizon`: expected a whole number of at least 1, got 0. It is how many steps "
            "the planner looks ahead.",
        ),
        (
            CEM,
            {"iterations": 2.5},
            "CEM: `iterations`: expected a whole number of at least 1, got 2.5. It is how often "
            "the planner samples.",
        ),
        (
            MPPI,
            {"samples": True},
            "MPPI: `samples`: expected a whole number of at least 1, got True. It is how many "
            "sequences are tried a world and iteration.",
        ),
        (
            ICEM,
            {"discount": 1.1},
            "ICEM: `discount`: expected a number from 0 to 1, got 1.1. It is what a reward is "
            "worth if it comes one step later.",
        ),
        (
            CEM,
            {"discount": float("nan")},
            "CEM: `discount`: expected a finite number from 0 to 1, got nan. It is what a "
            "reward is "
            "worth if it comes one step later.",
        ),
        (
            CEM,
            {"refresh": "half"},
            "CEM: `refresh`: expected a number from 0 to 1, got 'half'. It is how much of an "
            "earlier plan's certainty is forgotten.",
        ),
        (
            CEM,
            {"samples": 50, "elites": 100},
            "CEM: `elites`: expected at most `samples`, 50, got 100. They are the best of the "
            "samples: lower `elites` or raise `samples`.",
        ),
        (
            ICEM,
            {"elites": 0},
            "ICEM: `elites`: expected a whole number of at least 1, got 0. It is how many of the "
            "sequences shape the next iteration.",
        ),
        (
            CEM,
            {"smoothing": -0.1},
            "CEM: `smoothing`: expected a number from 0 to 1, got -0.1. It is how much of a "
            "belief is kept in the next one.",
        ),
        (
            ICEM,
            {"noise_beta": -1},
            "ICEM: `noise_beta`: expected a number from 0 to 100, got -1. 0 is white noise, 2 a "
            "random walk.",
        ),
        (
            ICEM,
            {"decay": 0.5},
            "ICEM: `decay`: expected a number from 1 to 1000000, got 0.5. It is what the "
            "samples of "
            "an iteration are divided by.",
        ),
        (
            ICEM,
            {"keep": 2},
            "ICEM: `keep`: expected a number from 0 to 1, got 2. It is how many of the elites are "
            "tried again.",
        ),
        (
            MPPI,
            {"temperature": 0},
            "MPPI: `temperature`: expected a number above 0 and of at most 1e+30, got 0. It "
            "is in units of the "
            "return: a difference that large weighs e times as much.",
        ),
    ],
)
def test_bad_options(kind: type[Planner], options: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        kind(**options)


def test_numbers_of_numpy_are_numbers() -> None:
    planner = CEM(horizon=np.int64(5), samples=np.int32(200), discount=np.float32(0.5))
    assert planner == CEM(horizon=5, samples=200, discount=0.5)
    assert type(planner.horizon) is int


def test_a_simulator_for_fewer_steps_is_refused() -> None:
    simulator = Robots("push")
    simulator.horizon = 2  # type: ignore[attr-defined]
    state = simulator.state(GOALS)
    replace(QUICK["CEM"], horizon=2).plan(simulator, state, generator=generators(0, 1))
    message = (
        "plan: expected a horizon of at most 2 steps, for which the simulator was made, got 3. "
        "Make the simulator with horizon=3, or without one."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        QUICK["CEM"].plan(simulator, state, generator=generators(0, 1))


def test_a_state_of_another_shape_is_refused() -> None:
    simulator = Robots("push")
    state = simulator.state(GOALS)
    wrong = {"Robot": {**state.values["Robot"], "mass": torch.ones(2, 3)}, "Door": {}}
    message = (
        "plan: values['Robot']['mass']: expected shape (2, 2) (batch, object, ...), got shape "
        "(2, 3). Make it with Snapshot.of."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        CEM().plan(simulator, replace(state, values=wrong), generator=generators(0, 1))


def test_a_state_of_another_schema_is_refused() -> None:
    message = (
        "plan: expected a state of the simulator's schema, got another one: fields of Robot: "
        "['push_goal', 'push', 'mass'] against ['open_goal', 'open', 'mass'] (simulator against "
        "state). Give a state of the simulator's world."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        CEM().plan(Robots("push"), Robots("open").state(GOALS), generator=generators(0, 1))


def test_no_worlds_are_refused() -> None:
    simulator = Robots("push")
    message = (
        "plan: expected a state of at least one world, got 0 rows. Leave the call out when every "
        "world has ended."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        CEM().plan(simulator, simulator.state(rows(GOALS)), generator=[])


class Gambler(ObjectClass):
    money = Real()
    bet = Boolean(action=True)


class Casino:
    """A bet wins 10 once in twenty times, which is worth half of what comes without it."""

    schema = Schema(Gambler)

    def step(self, before: Snapshot, seed: int) -> Snapshot:
        luck = torch.rand(before.batch_size, 1, generator=torch.Generator().manual_seed(seed))
        won = torch.where(before["Gambler", "bet"] > 0, 10.0 * (luck < 0.05), 1.0)
        return Snapshot.of(self.schema, {"Gambler": {"money": won}}, before.present)

    def reward(self, before: Snapshot, after: Snapshot) -> torch.Tensor:
        return after["Gambler", "money"].sum(1)

    def terminated(self, after: Snapshot) -> torch.Tensor:
        return torch.zeros(after.batch_size, dtype=torch.bool)


def test_with_more_futures_luck_is_not_taken_for_skill() -> None:
    state = Snapshot.of(Casino.schema, {"Gambler": {"money": torch.zeros(1, 1)}})

    def bets(futures: int) -> int:
        planner = CEM(horizon=1, iterations=1, samples=40, elites=10, futures=futures)
        plans = [planner.plan(Casino(), state, generator=generators(seed)) for seed in range(20)]
        return sum(int(plan.actions["Gambler"]["bet"]) for plan in plans)

    assert bets(1) > 10 and bets(200) == 0


def test_futures_are_counted() -> None:
    message = (
        "CEM: `futures`: expected a whole number of at least 1, got 0. It is in how many futures "
        "each sequence is tried."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        CEM(futures=0)
    simulator = Robots("push")
    planner = CEM(horizon=1, iterations=1, samples=7, elites=3, futures=4)
    planner.plan(simulator, simulator.state(GOALS), generator=generators(0, 1))
    assert simulator.rows == [2 * 7 * 4]
