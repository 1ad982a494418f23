"""What simulators say of a step, checked."""

from __future__ import annotations

import re

import pytest
import torch

from oocdm.errors import PlanError
from oocdm.planning import TrueSimulator
from oocdm.planning.outcomes import checked_reward
from tests.planning.pushing import Pushing, replaced, returns
from tests.planning.toys import Walk


@pytest.mark.parametrize(
    ("simulator", "message"),
    [
        (
            replaced(reward=lambda self, before, after: after["Ball", "x"]),
            "Simulator.reward: expected a tensor of numbers of shape (2,), one per row, got shape "
            '(2, 1). Reduce over the objects, as in after["Ball.x"].sum(1).',
        ),
        (
            replaced(reward=lambda self, before, after: 1.0),
            "Simulator.reward: expected a tensor of numbers of shape (2,), one per row, got float. "
            'Keep the rows apart, without float() or .item(), as in after["Ball.x"].sum(1), or '
            "repeat one for all of them: torch.full((after.batch_size,), 1.0).",
        ),
        (
            replaced(reward=lambda self, before, after: after["Ball", "x"].sum(1).numpy()),
            "Simulator.reward: expected a tensor of numbers of shape (2,), one per row, got "
            'ndarray. Stay with torch, without .numpy(), as in after["Ball.x"].sum(1).',
        ),
        (
            replaced(reward=lambda self, before, after: after["Ball", "x"].sum()),
            "Simulator.reward: expected a tensor of numbers of shape (2,), one per row, got shape "
            '(). Reduce over the objects only, not over the rows, as in after["Ball.x"].sum(1).',
        ),
        (
            replaced(reward=lambda self, before, after: None),
            "Simulator.reward: expected a tensor of numbers of shape (2,), one per row, got "
            'NoneType. Let the function return what it computes, as in after["Ball.x"].sum(1).',
        ),
        (
            replaced(reward=lambda self, before, after: torch.tensor([0.0, torch.nan])),
            "Simulator.reward: expected finite numbers, got nan in 1 of 2 rows. Look for divisions "
            "by 0, logarithms and roots in the reward, and at the states that the simulator "
            "predicts.",
        ),
        (
            replaced(reward=lambda self, before, after: torch.full((2,), -torch.inf)),
            "Simulator.reward: expected finite numbers, got -inf in 2 of 2 rows. Look for "
            "divisions by 0, logarithms and roots in the reward, and at the states that the "
            "simulator predicts.",
        ),
        (
            replaced(terminated=lambda self, after: torch.zeros(3, dtype=torch.bool)),
            "Simulator.terminated: expected a tensor of booleans of shape (2,), one per row, got "
            "shape (3,). The first axis of a batch is its rows: keep it whole, as in "
            '(after["Ball.x"] < 0).any(1).',
        ),
        (
            replaced(terminated=lambda self, after: False),
            "Simulator.terminated: expected a tensor of booleans of shape (2,), one per row, got "
            "bool. Leave `terminated` out if it never ends, else keep the rows apart, as in "
            '(after["Ball.x"] < 0).any(1).',
        ),
        (
            replaced(terminated=lambda self, after: torch.zeros(2)),
            "Simulator.terminated: expected booleans, got torch.float32. Compare with something, "
            'as in (after["Ball.x"] < 0).any(1).',
        ),
    ],
)
def test_what_a_simulator_returns_is_checked(simulator: Pushing, message: str) -> None:
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        returns(simulator, torch.zeros(2, 2, 1))


def test_a_task_is_named_instead_of_its_simulator() -> None:
    simulator = TrueSimulator(Walk())
    message = r"^Task\.reward: .* got shape \(2, 1\)\. .* as in after\[\"Walker\.x\"\]\.sum\(1\)\.$"
    with pytest.raises(PlanError, match=message):
        checked_reward(simulator, torch.zeros(2, 1), torch.ones(2, dtype=torch.bool))


def test_only_running_rows_need_finite_rewards() -> None:
    reward = torch.tensor([1.0, torch.inf, -torch.inf])
    running = torch.tensor([True, False, False])
    assert checked_reward(Pushing(), reward, running) is reward
    with pytest.raises(PlanError, match="got -inf in 1 of 3 rows"):
        checked_reward(Pushing(), reward, torch.tensor([True, False, True]))
