"""The learned world as planners see it: what cannot matter is left out, and nothing changes."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import oocdm
from oocdm.errors import PlanError, SchemaError
from oocdm.planning import CEM, ICEM, MPC, LearnedSimulator, Planner
from oocdm.task import Task
from tests.inference.ragged import random_model

ENV = oocdm.make("mouse", num_food=(1, 4), num_monsters=(0, 3), num_traps=(1, 3))
DATA = oocdm.collect(ENV, steps=200, seed=0)
RESULT: Any = SimpleNamespace(model=random_model(DATA), graph=ENV.true_graph)
STATE = DATA.transitions(slice(0, 200, 40)).before

PLANNERS: dict[str, Planner] = {
    "near": CEM(horizon=1, iterations=2, samples=20, elites=5),
    "far": CEM(horizon=3, iterations=2, samples=10, elites=4),
    "ICEM": ICEM(horizon=2, iterations=2, samples=10, elites=4),
}
SEEDS = range(3)


def mouse_task() -> Task:
    assert ENV.task is not None
    return ENV.task


def moves(planner: Planner, seed: int, prune: bool) -> torch.Tensor:
    """What the agent does in two steps, so that the second one starts from the first."""
    agent = MPC(RESULT, mouse_task(), planner, seed, prune=prune)
    agent.reset(STATE.batch_size)
    return torch.stack([agent.act(STATE)["Mouse"]["move"] for _ in range(2)])


@pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)
def test_actions_are_the_same_with_and_without(planner: Planner) -> None:
    chosen = [moves(planner, seed, prune=True) for seed in SEEDS]
    assert len({tuple(found.flatten().tolist()) for found in chosen}) > 1
    for seed, found in enumerate(chosen):
        assert torch.equal(found, moves(planner, seed, prune=False))


def test_the_longer_the_horizon_the_more_is_simulated() -> None:
    def simulated(horizon: int | None) -> set[str]:
        return set(LearnedSimulator(RESULT, mouse_task(), horizon).dynamics.simulated)

    everything = {f"{c}.{f}" for c in DATA.schema.classes for f in DATA.schema.targets(c)}
    assert simulated(1) == {"Mouse.hunger", "Mouse.health"}
    assert simulated(1) < simulated(2) < simulated(3)
    assert simulated(20) == everything - {"Monster.noise"}
    assert simulated(None) == everything


def test_what_was_pruned_for_fewer_steps_cannot_look_further() -> None:
    near, whole = (LearnedSimulator(RESULT, mouse_task(), horizon) for horizon in (2, None))
    assert (near.horizon, whole.horizon) == (2, None)
    generator = torch.Generator()
    with pytest.raises(
        PlanError, match=r"^plan: expected a horizon of at most 2 steps, .* got 3\. "
    ):
        PLANNERS["far"].plan(near, STATE, generator=generator)
    PLANNERS["far"].plan(whole, STATE, generator=generator)


@pytest.mark.parametrize("horizon", [0, -1])
def test_a_horizon_is_a_whole_number(horizon: int) -> None:
    with pytest.raises(PlanError, match="expected a whole number of at least 1, got"):
        LearnedSimulator(RESULT, mouse_task(), horizon)


def plan_for(reads: list[str], prune: bool = True, **functions: Any) -> None:
    given = {
        "reward": lambda before, after: after["Mouse", "hunger"][:, 0],
        "terminated": lambda after: after["Mouse", "health"][:, 0] < 0,
    }
    agent = MPC(RESULT, Task(**given | functions, reads=reads), PLANNERS["near"], prune=prune)
    agent.reset(STATE.batch_size)
    agent.act(STATE)


@pytest.mark.parametrize(
    ("reads", "functions", "message"),
    [
        (
            ["Mouse.hunger"],
            {},
            "Task: reward or termination read Mouse.health, which `reads` does not name; it has "
            "Mouse.hunger. Add what is missing.",
        ),
        (
            ["Mouse.hunger", "Mouse.health"],
            {"reward": lambda before, after: before["Food", "amount"].sum(1)},
            "Task: reward or termination read Food.amount, which `reads` does not name; it has "
            "Mouse.hunger, Mouse.health. Add what is missing.",
        ),
        (
            ["Mouse.hunger", "Mouse.health"],
            {"reward": lambda before, after: before.values["Food"]["amount"].sum(1)},
            "Task: reward or termination read Food.amount, which `reads` does not name; it has "
            "Mouse.hunger, Mouse.health. Add what is missing.",
        ),
    ],
)
def test_what_is_read_must_be_named(
    reads: list[str], functions: dict[str, Any], message: str
) -> None:
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        plan_for(reads, **functions)
    plan_for(reads, prune=False, **functions)  # nothing is left out, so nothing can be missed


def test_what_is_named_must_exist() -> None:
    with pytest.raises(SchemaError, match=r"^Unknown field `Mouse\.hungr`\. Did you mean `hunger`"):
        plan_for(["Mouse.hungr"])


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        (
            lambda before, after: after["Mouse", "hunger"],
            "Task.reward: expected a tensor of numbers of shape (100,), one per row, got shape "
            '(100, 1). Reduce over the objects, as in after["Mouse.health"].sum(1).',
        ),
        (
            lambda before, after: after["Mouse", "hunger"][:, 0] * torch.nan,
            "Task.reward: expected finite numbers, got nan in 100 of 100 rows. Look for divisions "
            "by 0, logarithms and roots in the reward, and at the states that the simulator "
            "predicts.",
        ),
    ],
)
def test_a_reward_of_one_s_own_is_checked(reward: Any, message: str) -> None:
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        plan_for(["Mouse.hunger", "Mouse.health"], reward=reward)


def test_a_world_of_another_schema_is_refused() -> None:
    other = oocdm.collect(oocdm.make("block"), steps=5)
    agent = MPC(RESULT, mouse_task(), PLANNERS["near"])
    agent.reset(1)
    with pytest.raises(
        PlanError,
        match=r"^plan: expected a state of the simulator's schema, got another one: "
        r"classes ",
    ):
        agent.act(other.transitions(slice(0, 1)).before)


def test_what_is_read_later_must_be_named_too() -> None:
    """The first step alone does not tell what a task reads in all others."""
    calls = []

    def reward(before: Any, after: Any) -> torch.Tensor:
        calls.append(1)
        field = "hunger" if len(calls) < 4 else "health"
        return after["Mouse", field].sum(1)

    task = Task(reward=reward, reads=["Mouse.hunger"])
    agent = MPC(RESULT, task, PLANNERS["far"])
    agent.reset(STATE.batch_size)
    with pytest.raises(PlanError, match=r"^Task: reward or termination read Mouse\.health, which"):
        agent.act(STATE)


def test_steps_rewards_and_ends_are_those_of_model_and_task() -> None:
    whole, part = (LearnedSimulator(RESULT, mouse_task(), horizon) for horizon in (None, 2))
    after = whole.step(STATE, seed=3)
    for c, f in (("Mouse", "health"), ("Monster", "noise")):
        assert torch.equal(after[c, f], whole.dynamics.step(STATE, 3)[c, f])
    assert (whole.horizon, part.horizon) == (None, 2)
    pruned = part.step(STATE, seed=3)
    for simulator, state in ((whole, after), (part, pruned)):
        assert torch.equal(simulator.reward(STATE, state), mouse_task().reward(STATE, after))
        assert torch.equal(simulator.terminated(state), mouse_task().terminated(after))


def test_a_plan_has_a_simulator_of_its_own() -> None:
    simulator = LearnedSimulator(RESULT, mouse_task())
    own = simulator.begin_plan(seed=0)
    assert own is not simulator and own.dynamics is simulator.dynamics
    assert simulator._tries is None and own._tries is not None


def test_a_variable_graph_is_not_pruned() -> None:
    data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=60, seed=0)
    graph = oocdm.ClassGraph.full(data.schema).ground(data.max_counts)
    result: Any = SimpleNamespace(model=random_model(data), graph=graph)
    task = Task(lambda before, after: after["Total.s1"][:, 0], reads=["Total.s1"])
    simulator = LearnedSimulator(result, task, horizon=1)
    assert simulator.horizon is None
    assert "Block.s2" in simulator.dynamics.simulated


def test_a_task_is_a_task() -> None:
    message = "^task: expected an oocdm.Task, got function. Use env.task of one of our"
    with pytest.raises(PlanError, match=message):
        LearnedSimulator(RESULT, lambda before, after: 0.0)  # type: ignore[arg-type]
