"""What iCEM adds to CEM."""

from __future__ import annotations

from dataclasses import replace

import torch

from oocdm.data.snapshot import Snapshot
from oocdm.planning import CEM, ICEM
from tests.planning.toys import Robots, generators

PLANNER = ICEM(horizon=4, iterations=4, samples=40, elites=10, keep=0.3, decay=2.0)


class Recording(Robots):
    """Remembers the actions of every step."""

    def __init__(self, *actions: str) -> None:
        super().__init__(*actions)
        self.pushes: list[torch.Tensor] = []

    def step(self, before: Snapshot, seed: int) -> Snapshot:
        self.pushes.append(before["Robot", "push"][:, 0])
        return super().step(before, seed)

    def iteration(self, i: int) -> torch.Tensor:
        """The sequences (sample, horizon) of an iteration in one world."""
        return torch.stack(self.pushes[4 * i : 4 * i + 4], 1)


def one_world(simulator: Robots) -> Snapshot:
    return simulator.state({"push": torch.tensor([[0.6]])})


def test_samples_become_fewer_but_not_fewer_than_twice_the_elites() -> None:
    assert PLANNER.sample_counts() == [40, 20, 20, 20]
    assert ICEM(samples=10, elites=8, iterations=3, decay=3.0).sample_counts() == [10, 10, 10]


def test_each_iteration_tries_kept_elites_and_the_last_one_the_mean() -> None:
    simulator = Robots("push")
    PLANNER.plan(simulator, one_world(simulator), generator=generators(0))
    assert simulator.rows[::4] == [40 + 3, 20 + 3, 20 + 3, 20 + 3 + 1]


def test_kept_elites_are_the_best_of_the_iteration_before() -> None:
    simulator = Recording("push")
    PLANNER.plan(simulator, one_world(simulator), generator=generators(0))
    for i in range(3):
        tried, kept = simulator.iteration(i), simulator.iteration(i + 1)[20:23]
        left = 0.6 - tried.cumsum(1)
        earned = -(left.square() * 0.95 ** torch.arange(4)).sum(1)
        assert torch.equal(kept, tried[earned.topk(3).indices])


def test_the_next_plan_tries_the_kept_elites_a_step_later() -> None:
    simulator = Recording("push")
    state = one_world(simulator)
    plan = PLANNER.plan(simulator, state, generator=generators(0))
    assert plan.warm is not None and plan.warm.elites.shape == (3, 4, 1)
    simulator.pushes.clear()
    PLANNER.plan(simulator, state, warm=plan.warm, generator=generators(1))
    assert len(simulator.iteration(0)) == 40 + 3
    moved = simulator.iteration(0)[40:]
    assert torch.equal(moved[:, :3], plan.warm.elites[:, 1:, 0])


def test_a_plan_of_cem_is_a_start_too() -> None:
    simulator = Robots("push")
    state = one_world(simulator)
    warm = CEM(horizon=4, samples=20, elites=5).plan(simulator, state, generator=generators(0)).warm
    PLANNER.plan(simulator, state, warm=warm, generator=generators(1))
    assert simulator.rows[20] == 40 + 3


def test_what_is_found_never_gets_worse() -> None:
    """In a deterministic world the best sequence is kept from iteration to iteration."""
    simulator = Recording("push")
    PLANNER.plan(simulator, one_world(simulator), generator=generators(0))
    best = []
    for i in range(PLANNER.iterations):
        left = 0.6 - simulator.iteration(i).cumsum(1)
        best.append(float((-(left.square() * 0.95 ** torch.arange(4)).sum(1)).amax()))
    assert best == sorted(best) and best[0] < best[-1]


def test_keeping_nothing_is_allowed() -> None:
    simulator = Robots("push")
    replace(PLANNER, keep=0.0).plan(simulator, one_world(simulator), generator=generators(0))
    assert simulator.rows[::4] == [40, 20, 20, 21]
