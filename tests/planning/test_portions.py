"""Plans stay within memory, and are the same whatever they are divided into."""

from __future__ import annotations

import multiprocessing
import re
import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import oocdm
from oocdm import ClassGraph, PlanError, Snapshot
from oocdm.bench.memory import WORLDS, make_data, peak_above
from oocdm.inference.shelf import Shelf
from oocdm.models.memory import GIB, LIBRARIES, SPARE, measure
from oocdm.planning import CEM, ICEM, MPC, MPPI, LearnedSimulator, Planner
from oocdm.planning.actions import ActionVariables
from oocdm.planning.beliefs import Belief
from oocdm.planning.planner import Problem
from oocdm.planning.portions import Division
from oocdm.schema import Boolean, Categorical, Field, ObjectClass, Real, Schema
from oocdm.task import Task
from tests.inference.ragged import ragged, random_model
from tests.planning.toys import generators

ANTS = ragged(is_whole=True)
ANT_TASK = Task(
    reward=lambda before, after: after["Ant.x"].sum(1) - after["Nest.food"].sum(1),
    terminated=lambda after: after["Ant.level"].amax(1) > 4,
    reads=["Ant.x", "Ant.level", "Nest.food"],
)
ENV = oocdm.make("mouse")
MICE = oocdm.collect(ENV, steps=60, seed=0)
assert ENV.task is not None
MOUSE_TASK = ENV.task
MOUSE: Any = SimpleNamespace(model=random_model(MICE), graph=ENV.true_graph)
# All kinds of fields hear of one another; what the mouse does reaches others step by step.
SIMULATORS = {
    "ants": LearnedSimulator(
        SimpleNamespace(model=random_model(ANTS), graph=ClassGraph.full(ANTS.schema)), ANT_TASK
    ),
    "mouse": LearnedSimulator(MOUSE, MOUSE_TASK, horizon=3),
}
STATES = {
    "ants": ANTS.transitions(slice(0, 3)).before,
    "mouse": MICE.transitions(slice(0, 60, 12)).before,
}
PLANNERS: dict[str, Planner] = {
    "CEM": CEM(horizon=2, iterations=2, samples=60, elites=20),
    "ICEM": ICEM(horizon=2, iterations=2, samples=60, elites=20),
    "MPPI": MPPI(horizon=2, iterations=2, samples=60),
    "futures": CEM(horizon=2, iterations=2, samples=30, elites=10, futures=2),
}
planned = sys.modules["oocdm.planning.planner"]


@pytest.fixture
def divisions(monkeypatch: pytest.MonkeyPatch) -> list[Division]:
    """How plans were divided."""
    divide, found = planned.divide, list[Division]()

    def watched(*given: Any) -> Division:
        found.append(divide(*given))
        return found[-1]

    monkeypatch.setattr(planned, "divide", watched)
    return found


def plan(planner: Planner, which: str, memory: int | str, cache: bool = True) -> oocdm.Plan:
    return planner.plan(
        SIMULATORS[which],
        STATES[which],
        generator=torch.Generator().manual_seed(3),
        memory=memory,
        cache=cache,
    )


@pytest.mark.parametrize("which", SIMULATORS)
@pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)
def test_plans_are_the_same_whatever_the_memory(
    planner: Planner, which: str, divisions: list[Division]
) -> None:
    whole = plan(planner, which, "4GiB")
    rows = divisions[0].at_once
    # So much that a part has 32 rows or more, and then without room for what tries share.
    tight = LIBRARIES + int(SPARE * divisions[0].estimate.steps / 2)
    for cache in (True, False):
        parts = plan(planner, which, tight, cache)
        assert 32 <= divisions[-1].at_once <= rows // 2 and divisions[-1].at_once % 32 == 0
        assert (divisions[-1].room > 0) == cache
        for c, fields in whole.actions.items():
            for f, chosen in fields.items():
                assert torch.equal(parts.actions[c][f], chosen)
        assert torch.allclose(parts.value, whole.value, rtol=1e-5)
    assert divisions[0].at_once >= planner.samples * STATES[which].batch_size


def test_what_fits_is_stepped_at_once_and_all_that_is_shared_is_kept(
    divisions: list[Division], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = list[torch.Tensor]()
    has_room = Shelf.has_room

    def watched(self: Shelf, tensor: torch.Tensor) -> bool:
        if self._room and not has_room(self, tensor):
            refused.append(tensor)
        return has_room(self, tensor)

    monkeypatch.setattr(Shelf, "has_room", watched)
    for which in SIMULATORS:
        plan(PLANNERS["CEM"], which, "1GiB")
        assert divisions[-1].at_once == 60 * STATES[which].batch_size
        assert refused == []


def test_a_simulator_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    simulator, steps = LearnedSimulator(MOUSE, MOUSE_TASK, horizon=3), list[int]()
    step = LearnedSimulator.step

    def watched(self: LearnedSimulator, before: Snapshot, seed: int | None) -> Snapshot:
        steps.append(before.batch_size)
        return step(self, before, seed)

    monkeypatch.setattr(LearnedSimulator, "step", watched)
    planner, rows = PLANNERS["CEM"], 60 * 5
    for worlds in (5, 5, 2):
        state = STATES["mouse"].map(lambda tensor, worlds=worlds: tensor[:worlds])
        planner.plan(simulator, state, generator=torch.Generator())
    assert len([each for each in steps if each < 60]) == 2 * 2  # what is made once, then the look
    assert steps.count(rows) == 2 * 4


def test_a_task_written_for_so_many_rows_is_asked_for_so_many() -> None:
    def reward(before: Snapshot, after: Snapshot) -> torch.Tensor:
        return after["Ant.x"].sum(1) + torch.arange(180)

    simulator = LearnedSimulator(
        SimpleNamespace(model=random_model(ANTS), graph=ClassGraph.full(ANTS.schema)),
        Task(reward, reads=["Ant.x"]),
    )
    planner = CEM(horizon=2, iterations=1, samples=60, elites=20)
    found = planner.plan(simulator, STATES["ants"], generator=torch.Generator())
    assert float(found.value.min()) > 100


def test_a_warm_start_keeps_no_more_than_it_has() -> None:
    for planner in PLANNERS.values():
        warm = plan(planner, "mouse", "4GiB").warm
        assert warm is not None
        assert warm.elites.untyped_storage().nbytes() == warm.elites.nbytes


# ---------------------------------------------------------------- how much it takes

CROWD: dict[str, Field] = {"x": Real(), "v": Real(), "push": Real(action=True)}
CROWD_ROWS = ["Thing.x <- self.x, self.v", "Thing.v <- self.v, self.push, Thing[*].x"]
SMALL = 160 * 2**20


def crowd(objects: int, memory: int | str) -> tuple[MPC, Snapshot]:
    """Planning for many objects, each of which hears all others."""
    WORLDS["crowd"] = (CROWD, objects)
    data = make_data("crowd", episodes=2, steps=3)
    del WORLDS["crowd"]
    result: Any = SimpleNamespace(
        model=random_model(data), graph=ClassGraph.parse(data.schema, CROWD_ROWS)
    )
    task = Task(lambda before, after: -after["Thing.x"].abs().sum(1), reads=["Thing.x"])
    planner = CEM(horizon=2, iterations=1, samples=200, elites=20)
    agent = MPC(result, task, planner, memory=memory)
    agent.reset(1)
    return agent, data.transitions(slice(0, 1)).before


def peak_of_crowd(memory: int | str) -> int | None:
    """Resident memory of a plan above that before it, in a process of its own."""
    agent, state = crowd(50, memory)
    return peak_above(partial(agent.act, state))


def test_tensors_of_a_plan_stay_within_its_memory(divisions: list[Division]) -> None:
    agent, state = crowd(30, SMALL)
    agent.act(state)  # measures
    used = measure(partial(agent.act, state)).peak
    assert divisions[-1].at_once < 200
    assert used < divisions[-1].estimate.total - LIBRARIES <= SMALL - LIBRARIES
    # The same at once takes more than that: it is the parts that keep it within.
    agent.memory = 4 * GIB
    assert measure(partial(agent.act, state)).peak > SMALL - LIBRARIES
    assert divisions[-1].at_once == 200


def test_resident_memory_stays_within_what_was_given() -> None:
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        small = pool.apply(peak_of_crowd, (SMALL,))
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        large = pool.apply(peak_of_crowd, ("4GiB",))
    if small is None or large is None:
        pytest.skip("the system does not tell the peak of a process")
    assert small < SMALL < 1.5 * SMALL < large < 4 * GIB


def test_what_cannot_be_divided_enough_is_refused_with_a_remedy() -> None:
    agent, state = crowd(30, "97MiB")
    with pytest.raises(PlanError) as error:
        agent.act(state)
    text = str(error.value)
    found = re.match(
        r"plan: `memory`: expected at least (\d+) MiB, got 97 MiB\. plan: about \1 MiB of memory: "
        r"sequences 0 MiB, steps 1 MiB, kept for all tries 0 MiB\. Give more, such as "
        r"memory='1GiB', or plan with fewer samples, a shorter horizon, or fewer worlds or "
        r"objects at a time\.$",
        text,
    )
    assert found, text
    agent.memory = 2**20 * (int(found[1]) + 1)
    assert agent.act(state)["Thing"]["push"].shape == (1, 30)


def test_memory_is_read_in_words() -> None:
    assert crowd(3, "2GiB")[0].memory == 2 * GIB
    with pytest.raises(PlanError, match=r"^MPC: `memory`: expected a number of bytes, or words"):
        crowd(3, "much")
    with pytest.raises(PlanError, match=r"^plan: `memory`: expected a number of bytes, or words"):
        plan(PLANNERS["CEM"], "mouse", 0)


class Unsimulated(Problem):
    """Sequences earn nothing, and cost nothing to try."""

    def returns(self, sequences: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(sequences), self.state.batch_size)


@pytest.mark.parametrize(
    "field, samples", [(Real, 100), (Boolean, 100), (partial(Categorical, 2000), 5)]
)
@pytest.mark.parametrize("kind", ["CEM", "ICEM", "MPPI"])
def test_sequences_take_what_is_said_at_most(
    kind: str, field: Any, samples: int, divisions: list[Division]
) -> None:
    thing = type("Thing", (ObjectClass,), {"x": Real(), "act": field(action=True)})
    state = Snapshot.of(Schema(thing), {"Thing": {"x": torch.zeros(2, 20)}})
    changed = {} if kind == "MPPI" else {"elites": samples}
    planner = replace(PLANNERS[kind], samples=samples, horizon=20, **changed)
    start = Belief.initial(ActionVariables.of(state), 20)
    problem = Unsimulated(Any, state, start, generators(0, 1), 1.0, True, (), 0)  # type: ignore[arg-type]
    with torch.no_grad():
        used = measure(lambda: planner._search(problem)).peak

    class Frozen:
        """It stays as it is."""

        schema = state.schema

        def __init__(self) -> None:
            self.measured: dict[Any, int] = {}

        def step(self, before: Snapshot, seed: int) -> Snapshot:
            values = {c: {"x": fields["x"]} for c, fields in before.values.items()}
            return Snapshot.of(self.schema, values, before.present)

        def reward(self, before: Snapshot, after: Snapshot) -> torch.Tensor:
            return torch.zeros(after.batch_size)

        def terminated(self, after: Snapshot) -> torch.Tensor:
            return torch.zeros(after.batch_size, dtype=torch.bool)

        def begin_plan(self, seed: int, room: int | None = None) -> Frozen:
            return self

        def part(self, first: int, total: int) -> Frozen:
            return self

    planner.plan(Frozen(), state, generator=generators(0, 1))
    said = divisions[-1].estimate.sequences
    assert said / 4 < used < said
