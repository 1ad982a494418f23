"""The agent that plans every step."""

from __future__ import annotations

import re

import pytest
import torch

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.planning import CEM, ICEM, MPC, MPPI, Planner
from tests.planning.toys import ACTIONS, GOALS, Robots

CHEAP: list[Planner] = [
    CEM(horizon=3, iterations=2, samples=20, elites=5),
    ICEM(horizon=3, iterations=2, samples=20, elites=5),
    MPPI(horizon=3, iterations=2, samples=20),
]


def agent(planner: Planner = CHEAP[0], seed: int = 0, warm_start: bool = True) -> MPC:
    return MPC.within(Robots(*ACTIONS), planner, seed, warm_start)


def select(state: Snapshot, *rows: int) -> Snapshot:
    return state.map(lambda t: t[list(rows)])


STATE = Robots(*ACTIONS).state({n: torch.cat([g, g.flip(0)]) for n, g in GOALS.items()})


def pushes(planned: MPC, state: Snapshot, *worlds: int) -> torch.Tensor:
    rows = torch.tensor(worlds) if worlds else None
    return planned.act(state, worlds=rows)["Robot"]["push"]


@pytest.mark.parametrize("planner", CHEAP, ids=lambda p: type(p).__name__)
def test_worlds_that_end_change_nothing_for_the_others(planner: Planner) -> None:
    """Some worlds leave, one comes back: each acts as it would alone."""
    together = agent(planner)
    together.reset(4)
    acted = [
        pushes(together, STATE),
        pushes(together, select(STATE, 1, 3), 1, 3),
        pushes(together, select(STATE, 3), 3),
        pushes(together, select(STATE, 0, 3), 0, 3),
    ]
    alone = agent(planner)
    alone.reset(4)
    for step, row in enumerate((3, 1, 0, 1)):
        found = pushes(alone, select(STATE, 3), 3)
        assert torch.equal(found[0], acted[step][row])


def test_seeds() -> None:
    def two_steps(seed: int) -> torch.Tensor:
        planned = agent(seed=seed)
        planned.reset(4)
        return torch.stack([pushes(planned, STATE) for _ in range(2)])

    assert torch.equal(two_steps(0), two_steps(0))
    assert not torch.equal(two_steps(0), two_steps(1))


def test_a_reset_forgets() -> None:
    planned = agent()
    planned.reset(4)
    first = pushes(planned, STATE)
    second = pushes(planned, STATE)
    planned.reset(4)
    assert torch.equal(pushes(planned, STATE), first)
    assert not torch.equal(second, first)


def test_the_warm_start_is_an_option() -> None:
    warm, cold = agent(), agent(warm_start=False)
    for planned in (warm, cold):
        planned.reset(4)
    assert torch.equal(pushes(warm, STATE), pushes(cold, STATE))
    assert not torch.equal(pushes(warm, STATE), pushes(cold, STATE))


def test_who_can_act_is_passed_on() -> None:
    planned = agent()
    planned.reset(4)
    can_act = {"Robot": torch.tensor([[True, False]] * 4)}
    found = planned.act(STATE, can_act)["Robot"]["push"]
    assert (found[:, 1] == 0).all() and (found[:, 0] != 0).all()


@pytest.mark.parametrize(
    ("num_worlds", "worlds", "message"),
    [
        (
            0,
            None,
            "MPC.act: expected reset(num_worlds) before the first action, got none. Call it at "
            "the start of every batch of episodes.",
        ),
        (
            3,
            None,
            "MPC.act: expected a state of 3 worlds, got 4 rows. Name the worlds that are left in "
            "`worlds`, or call reset(num_worlds) for new ones.",
        ),
        (
            4,
            [0, 1, 2, 4],
            "MPC.act: `worlds`: expected different numbers from 0 to 3, as many worlds as were "
            "reset, got [0, 1, 2, 4]. Give each row its world's number.",
        ),
        (
            4,
            [0, 1, 2, 2],
            "MPC.act: `worlds`: expected different numbers from 0 to 3, as many worlds as were "
            "reset, got [0, 1, 2, 2]. Give each row its world's number.",
        ),
    ],
)
def test_mistakes(num_worlds: int, worlds: list[int] | None, message: str) -> None:
    planned = agent()
    planned.reset(num_worlds)
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        planned.act(STATE, worlds=None if worlds is None else torch.tensor(worlds))
