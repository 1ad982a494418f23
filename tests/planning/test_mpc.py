"""The agent that plans every step."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.planning import CEM, ICEM, MPC, MPPI, Planner
from oocdm.task import Task
from tests.inference import knobs
from tests.learned.toys import DATA, RESULT, TASK
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


@pytest.mark.parametrize("planner", CHEAP, ids=lambda p: type(p).__name__)
def test_worlds_may_be_acted_in_by_turns(planner: Planner) -> None:
    """Worlds that are left out of a call keep what they know."""
    together, by_turns = agent(planner), agent(planner)
    for planned in (together, by_turns):
        planned.reset(4)
    for step in range(3):
        expected = pushes(together, STATE)
        # In other groups in every step, so that plans of several calls come together.
        for worlds in ((0,), (3, 1), (2,)) if step % 2 else ((2, 0), (1, 3)):
            found = pushes(by_turns, select(STATE, *worlds), *worlds)
            assert torch.equal(found, expected[list(worlds)])


def test_plans_that_nobody_needs_are_forgotten() -> None:
    planned = agent()
    planned.reset(4)
    for worlds in ((0, 1, 2, 3), (0, 1), (2,), (0, 1), (3,)):
        pushes(planned, select(STATE, *worlds), *worlds)
    assert [rows.tolist() for _, rows in planned._plans] == [
        [-1, -1, 0, -1],
        [0, 1, -1, -1],
        [-1, -1, -1, 0],
    ]


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


def test_a_batch_of_episodes_starts_with_a_reset() -> None:
    message = "MPC.act: expected reset(num_worlds) before the first action, got none. "
    with pytest.raises(PlanError, match=f"^{re.escape(message)}"):
        agent().act(STATE)
    for wrong in (0, -1, 2.0):
        message = f"MPC.reset: `num_worlds`: expected a whole number of at least 1, got {wrong}."
        with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
            agent().reset(wrong)  # type: ignore[arg-type]


def test_worlds_and_masks_may_be_arrays_or_lists() -> None:
    worlds, can_act = [3, 1, 0, 2], np.array([[True, False]] * 4)
    found = []
    for given, mask in (
        (torch.tensor(worlds), torch.tensor(can_act)),
        (np.array(worlds), can_act),
        (worlds, can_act.tolist()),
    ):
        planned = agent()
        planned.reset(4)
        chosen = planned.act(STATE, {"Robot": mask}, given)  # type: ignore[dict-item, arg-type]
        found.append(chosen["Robot"]["push"].tolist())
    assert found[0] == found[1] == found[2]


TASK_ADVICE = (
    "Use env.task of one of our environments, or make one: oocdm.Task(reward=..., terminated=..., "
    "reads=...)."
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": None}, f"task: expected an oocdm.Task, got NoneType. {TASK_ADVICE}"),
        (
            {"planner": CEM},
            "MPC: `planner`: expected a planner such as oocdm.CEM(horizon=20), got the class CEM. "
            "Make one, with its options in parentheses.",
        ),
        (
            {"planner": "cem"},
            "MPC: `planner`: expected a planner such as oocdm.CEM(horizon=20), got str. Make one, "
            "with its options in parentheses.",
        ),
        (
            {"seed": -1},
            "MPC: `seed`: expected a whole number of at least 0, got -1. The random numbers of all "
            "plans follow from it.",
        ),
        (
            {"seed": 0.5},
            "MPC: `seed`: expected a whole number of at least 0, got 0.5. The random numbers of "
            "all plans follow from it.",
        ),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        MPC(**{"result": RESULT, "task": TASK, "planner": CHEAP[0], **options})


def test_a_class_may_have_nothing_but_actions() -> None:
    task = Task(
        reward=lambda before, after: after["Lamp", "x"].sum(1),
        terminated=lambda after: after["Lamp", "x"].amax(1) > 99,
        reads="Lamp.x",
    )
    planned = MPC(knobs.RESULT, task, CHEAP[0])
    planned.reset(2)
    lamps = {"Lamp": {"x": torch.zeros(2, 3)}}
    state = Snapshot.of(knobs.SCHEMA, lamps, {"Knob": torch.ones(2, 2, dtype=torch.bool)})
    assert planned.act(state)["Knob"]["turn"].shape == (2, 2)


def test_states_are_moved_to_the_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    planned, moves = agent(), []
    monkeypatch.setattr(Snapshot, "to", lambda self, device: (moves.append(device), self)[1])
    planned.reset(4)
    expected = pushes(planned, STATE)
    assert moves == []
    monkeypatch.setattr(Robots, "device", torch.device("meta"), raising=False)  # as if a GPU
    planned.reset(4)
    assert torch.equal(pushes(planned, STATE), expected) and moves == [torch.device("meta")]


def test_a_state_that_lacks_a_field() -> None:
    planned = MPC(RESULT, TASK, CHEAP[0])
    planned.reset(1)
    state = DATA.transitions(slice(0, 1)).before
    ants = {f: v for f, v in state.values["Ant"].items() if f != "level"}
    message = (
        "plan: values['Ant']['level']: expected shape (1, 3) (batch, object, ...), got none. Make "
        "it with Snapshot.of."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        planned.act(Snapshot.of(state.schema, {**state.values, "Ant": ants}))
