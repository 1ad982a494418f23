"""Random numbers of worlds that do not see each other."""

from __future__ import annotations

import re

import pytest
import torch

from oocdm.errors import PlanError
from oocdm.planning.actions import ActionVariables
from oocdm.planning.noise import colour_matrix, draw_noise, generators_of
from tests.planning.toys import GOALS, Robots, generators

SIMULATOR = Robots("push", "throw", "open")


@pytest.mark.parametrize("colour", [None, colour_matrix(4, 2.0)], ids=["white", "coloured"])
def test_a_world_draws_the_same_numbers_in_every_batch(colour: torch.Tensor | None) -> None:
    both = ActionVariables.of(SIMULATOR.state(GOALS))
    drawn = draw_noise(both, 6, 4, generators(5, 6), colour)
    for world, seed in enumerate((5, 6)):
        goals = {name: goal[world : world + 1] for name, goal in GOALS.items()}
        # Alone, and with rows of padding before and after the robots.
        padded = {n: torch.cat([g[:, :1], g, g[:, :1]], 1) for n, g in goals.items()}
        present = torch.tensor([[False, True, True, False]])
        for state in (SIMULATOR.state(goals), SIMULATOR.state(padded, present)):
            alone = ActionVariables.of(state)
            found = draw_noise(alone, 6, 4, generators(seed), colour)
            assert torch.equal(found, drawn[..., both.world == world])


def test_white_noise_is_standard_normal() -> None:
    variables = ActionVariables.of(SIMULATOR.state(GOALS))
    drawn = draw_noise(variables, 1000, 4, generators(0, 1))
    assert abs(float(drawn.mean())) < 0.01 and abs(float(drawn.std()) - 1) < 0.01


@pytest.mark.parametrize("horizon", [1, 2, 5, 20])
@pytest.mark.parametrize("beta", [0.0, 1.0, 2.0, 4.0])
def test_coloured_noise_has_variance_one(horizon: int, beta: float) -> None:
    matrix = colour_matrix(horizon, beta)
    covariance = matrix @ matrix.T
    assert torch.allclose(covariance.diagonal(), torch.ones(horizon), atol=1e-5)


def test_neighbouring_steps_of_coloured_noise_go_together() -> None:
    neighbours = []
    for beta in (0.0, 1.0, 2.0, 4.0):
        matrix = colour_matrix(20, beta)
        neighbours.append(float((matrix @ matrix.T)[5, 6]))
    assert neighbours[0] == pytest.approx(0, abs=1e-6)
    assert neighbours == sorted(neighbours) and neighbours[2] > 0.7


def test_one_generator_seeds_all() -> None:
    first, second = (generators_of(*generators(3), batch_size=n) for n in (2, 3))
    assert [g.initial_seed() for g in first] == [g.initial_seed() for g in second[:2]]


def test_generators_must_be_as_many_as_worlds() -> None:
    message = (
        "plan: expected 3 generators, one a world, got 2. Give as many as the state has rows, or "
        "a single one that seeds them all."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        generators_of(generators(0, 1), 3)
