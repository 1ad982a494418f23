"""CEM is the paper's Algorithm 3."""

from __future__ import annotations

import torch

from oocdm.data.snapshot import Snapshot
from oocdm.planning import CEM
from tests.planning.toys import GOALS, Robots, generators


class Recording(Robots):
    """Remembers the first actions and the rewards of every step."""

    def __init__(self, *actions: str) -> None:
        super().__init__(*actions)
        self.pushes: list[torch.Tensor] = []
        self.rewards: list[torch.Tensor] = []

    def reward(self, before: Snapshot, after: Snapshot) -> torch.Tensor:
        self.pushes.append(before["Robot", "push"])
        self.rewards.append(super().reward(before, after))
        return self.rewards[-1]


def test_the_defaults_are_the_papers_numbers() -> None:
    cem = CEM()
    assert (cem.horizon, cem.iterations, cem.samples, cem.elites) == (20, 5, 500, 100)
    assert cem.discount == 0.95


def test_all_samples_of_all_worlds_are_stepped_together() -> None:
    simulator = Robots("push", "open")
    cem = CEM(horizon=4, iterations=3, samples=10, elites=2)
    cem.plan(simulator, simulator.state(GOALS), generator=generators(0, 1))
    assert simulator.rows == [20] * 12


def test_the_last_iterations_best_sample_is_chosen() -> None:
    """Each iteration fits to the elites of the one before; recomputed here from the record."""
    simulator = Recording("push")
    cem = CEM(horizon=2, iterations=3, samples=40, elites=5, discount=0.5)
    state = simulator.state({"push": torch.tensor([[0.6]])})
    plan = cem.plan(simulator, state, generator=generators(0))
    noise = torch.Generator().manual_seed(0)
    mean, sd = torch.zeros(2, 1), torch.full((2, 1), 0.5)
    for i in range(3):
        drawn = (mean + sd * torch.randn(40, 2, 1, generator=noise)).clamp(-1, 1)
        tried = torch.stack(simulator.pushes[2 * i : 2 * i + 2], 1).view(40, 2, 1)
        assert torch.allclose(tried, drawn, atol=1e-6)
        earned = simulator.rewards[2 * i] + 0.5 * simulator.rewards[2 * i + 1]
        elites = tried[earned.topk(5).indices]
        mean, sd = elites.mean(0), elites.std(0, correction=0)
    assert torch.equal(plan.actions["Robot"]["push"][0], tried[earned.argmax(), 0])
    assert torch.allclose(plan.value.float(), earned.amax())


def test_the_horizon_matters() -> None:
    """The discount decides whether a loss now for a gain later is taken."""

    class Investing(Robots):
        def reward(self, before: Snapshot, after: Snapshot) -> torch.Tensor:
            paid = before["Robot", "open"][:, 0].float()
            return 3 * (before["Robot", "push_goal"][:, 0] < -0.5) - paid

        def step(self, before: Snapshot, seed: int) -> Snapshot:
            after = super().step(before, seed)
            goal = -before["Robot", "open"].float()
            values = {**after.values["Robot"], "push_goal": goal}
            door = after.values["Door"]
            return Snapshot.of(self.schema, {"Robot": values, "Door": door}, after.present)

    simulator = Investing("push", "open")
    state = simulator.state({name: goal[:1, :1] for name, goal in GOALS.items()})
    chosen = []
    for horizon, discount in ((1, 1.0), (2, 0.1), (2, 0.9)):
        cem = CEM(horizon=horizon, discount=discount, samples=50, elites=10, iterations=3)
        plan = cem.plan(simulator, state, generator=generators(0))
        chosen.append(int(plan.actions["Robot"]["open"]))
    assert chosen == [0, 0, 1]


def test_ends_are_an_option() -> None:
    """Stopping counts a step that ends the episode as the last; Algorithm 3 goes on."""

    class Ending(Robots):
        def reward(self, before: Snapshot, after: Snapshot) -> torch.Tensor:
            return torch.ones(before.batch_size)

        def terminated(self, after: Snapshot) -> torch.Tensor:
            return torch.ones(after.batch_size, dtype=torch.bool)

    simulator = Ending("open")
    state = simulator.state(GOALS)
    for stops, value in ((True, 1.0), (False, 3.0)):
        cem = CEM(
            horizon=3,
            samples=4,
            elites=2,
            iterations=1,
            discount=1.0,
            stop_at_termination=stops,
        )
        plan = cem.plan(simulator, state, generator=generators(0, 1))
        assert plan.value.tolist() == [value, value]
