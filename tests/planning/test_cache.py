"""Plans are the same with and without the cache of what their tries share."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oocdm
from oocdm import ClassGraph, Snapshot
from oocdm.planning import CEM, ICEM, MPC, MPPI, LearnedSimulator, Planner
from oocdm.task import Task
from tests.inference.ragged import random_model

ENVS = {
    "objects vary": oocdm.make("mouse", num_food=(1, 4), num_monsters=(0, 3), num_traps=(1, 3)),
    "numbers": oocdm.make("mouse"),
}
DATA = {name: oocdm.collect(env, steps=200, seed=0) for name, env in ENVS.items()}
MODELS = {name: random_model(data) for name, data in DATA.items()}
STATES = {name: data.transitions(slice(0, 200, 40)).before for name, data in DATA.items()}
PLANNERS: dict[str, Planner] = {
    "CEM": CEM(horizon=3, iterations=3, samples=10, elites=4),
    "ICEM": ICEM(horizon=4, iterations=3, samples=10, elites=4),
    "MPPI": MPPI(horizon=3, iterations=2, samples=8),
    "futures": CEM(horizon=3, iterations=2, samples=6, elites=2, futures=3),
}


def simulator_of(name: str, graph: ClassGraph | None = None, **options: Any) -> LearnedSimulator:
    env = ENVS[name]
    result: Any = SimpleNamespace(model=MODELS[name], graph=graph or env.true_graph)
    assert env.task is not None
    return LearnedSimulator(result, options.pop("task", env.task), **options)


def assert_same_plans(planner: Planner, simulator: LearnedSimulator, state: Snapshot) -> None:
    ours, theirs = (
        planner.plan(simulator, state, generator=torch.Generator().manual_seed(3), cache=cache)
        for cache in (True, False)
    )
    assert torch.equal(ours.value, theirs.value)
    assert torch.equal(ours.actions["Mouse"]["move"], theirs.actions["Mouse"]["move"])


@pytest.mark.parametrize("horizon", [None, 4])
@pytest.mark.parametrize("name", ENVS)
@pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)
def test_plans_are_the_same(planner: Planner, name: str, horizon: int | None) -> None:
    assert_same_plans(planner, simulator_of(name, horizon=horizon), STATES[name])


@settings(max_examples=20)
@given(st.sampled_from(list(ENVS)), st.floats(0.0, 0.4), st.integers(0, 2**20))
def test_plans_are_the_same_under_any_graph(name: str, density: float, seed: int) -> None:
    graph = ClassGraph.random(DATA[name].schema, density, np.random.default_rng(seed))
    assert_same_plans(PLANNERS["CEM"], simulator_of(name, graph), STATES[name])


def test_plans_are_the_same_if_something_is_unknown() -> None:
    state = STATES["numbers"]
    hidden = torch.zeros_like(state.present["Food"])
    hidden[:2, 0] = True
    state = state.hide({"Food": {"amount": hidden}})
    assert_same_plans(PLANNERS["CEM"], simulator_of("numbers", horizon=3), state)


def test_plans_are_the_same_for_a_task_that_changes_what_it_is_shown() -> None:
    def reward(before: Snapshot, after: Snapshot) -> torch.Tensor:
        food = after["Food", "amount"].sub_(0.5).clamp_(min=0)
        return after["Mouse", "hunger"].sum(1) + food.sum(1)

    task = Task(reward=reward, reads=["Mouse.hunger", "Food.amount"])
    graph = ClassGraph.parse(  # nothing reaches the food
        DATA["numbers"].schema, ["Food.amount <- self.amount", "Mouse.hunger <- self.move"]
    )
    simulator = simulator_of("numbers", graph, task=task)
    assert_same_plans(PLANNERS["CEM"], simulator, STATES["numbers"])


def agent_of(cache: bool) -> MPC:
    env = ENVS["objects vary"]
    assert env.task is not None
    result: Any = SimpleNamespace(model=MODELS["objects vary"], graph=env.true_graph)
    agent = MPC(result, env.task, PLANNERS["CEM"], cache=cache)
    agent.reset(5)
    return agent


def test_states_may_be_changed_through_numpy_between_plans() -> None:
    ours, theirs = agent_of(cache=True), agent_of(cache=False)
    state = STATES["objects vary"].map(torch.clone)
    seen = []
    for place in range(4):
        moves = [agent.act(state)["Mouse"]["move"] for agent in (ours, theirs)]
        assert torch.equal(*moves)
        seen.append(tuple(moves[0].flatten().tolist()))
        state["Mouse", "position"].numpy()[:] = place
        state.present["Trap"].numpy()[place, 0] = False
    assert len(set(seen)) > 1


def test_an_agent_uses_the_cache_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    rooms, begin = list[int | None](), LearnedSimulator.begin_plan

    def watched(self: LearnedSimulator, seed: int, room: int | None = None) -> LearnedSimulator:
        rooms.append(room)
        return begin(self, seed, room)

    monkeypatch.setattr(LearnedSimulator, "begin_plan", watched)
    agent_of(cache=False).act(STATES["objects vary"])
    assert rooms[-1] == 0
    agent_of(cache=True).act(STATES["objects vary"])
    assert (rooms[-1] or 0) > 1000


def test_a_simulator_keeps_nothing_of_a_plan() -> None:
    simulator = simulator_of("numbers", horizon=3)
    PLANNERS["CEM"].plan(simulator, STATES["numbers"], generator=torch.Generator())
    assert simulator._tries is None
    assert len(simulator.dynamics._random_numbers._shelf) == 0
