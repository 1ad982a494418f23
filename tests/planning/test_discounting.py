"""What sequences of actions earn."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.planning.actions import ActionVariables
from oocdm.planning.discounting import discounted_returns
from oocdm.schema import Integer, ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


class Pushing:
    """x moves by the push and is what is earned; over 3 the episode ends."""

    schema = Schema(Ball)
    vanish_above = 100.0

    def step(self, before: Snapshot, seed: int) -> Snapshot:
        x = before["Ball", "x"] + before["Ball", "push"]
        present = before.present["Ball"] & (x <= self.vanish_above)
        return Snapshot.of(self.schema, {"Ball": {"x": x}}, {"Ball": present})

    def reward(self, before: Snapshot, after: Snapshot) -> Any:
        return after["Ball", "x"].sum(1)

    def terminated(self, after: Snapshot) -> Any:
        return after["Ball", "x"].amax(1) > 3


def state(*x: list[float]) -> Snapshot:
    return Snapshot.of(Pushing.schema, {"Ball": {"x": torch.tensor(x)}})


def returns(simulator: Pushing, pushes: Tensor, discount: float = 1.0, **options: bool) -> Any:
    """Of pushes (sample, horizon, world) for one ball a world that starts at 0, 10, ..."""
    start = state(*([10.0 * i] for i in range(pushes.shape[2])))
    variables = ActionVariables.of(start)
    start = start.map(lambda t: t.repeat(len(pushes), 1))
    return discounted_returns(simulator, start, variables, pushes, discount, **options)


def test_rewards_are_discounted_and_summed() -> None:
    pushes = torch.tensor([[[1.0], [1.0], [-1.0]], [[0.0], [0.0], [2.0]]])
    assert returns(Pushing(), pushes, 0.5).tolist() == [[1 + 2 / 2 + 1 / 4], [2 / 4]]
    assert returns(Pushing(), pushes, 0.0).tolist() == [[1.0], [0.0]]


def test_worlds_and_samples_are_kept_apart() -> None:
    pushes = torch.tensor([[[1.0, -9.0]], [[2.0, -8.0]], [[3.0, -7.0]]])
    assert returns(Pushing(), pushes).tolist() == [[1, 1], [2, 2], [3, 3]]


def test_an_end_stops_the_return_but_counts_itself() -> None:
    pushes = torch.tensor([[[4.0], [-3.0], [1.0]], [[1.0], [0.0], [0.0]]])
    assert returns(Pushing(), pushes).tolist() == [[4.0], [3.0]]
    on = returns(Pushing(), pushes, stop_at_termination=False)
    assert on.tolist() == [[4.0 + 1 + 2], [3.0]]


def test_no_step_is_taken_once_all_have_ended() -> None:
    class Counting(Pushing):
        steps = 0

        def step(self, before: Snapshot, seed: int) -> Snapshot:
            self.steps += 1
            return super().step(before, seed)

    simulator = Counting()
    returns(simulator, torch.full((2, 9, 1), 2.0))
    assert simulator.steps == 2


def test_what_comes_after_an_end_need_not_be_finite() -> None:
    class Breaking(Pushing):
        def reward(self, before: Snapshot, after: Snapshot) -> Any:
            earned = after["Ball", "x"].sum(1)
            return torch.where(before["Ball", "x"][:, 0] > 3, torch.nan, earned)

    assert returns(Breaking(), torch.tensor([[[4.0], [1.0]], [[0.0], [0.0]]])).tolist() == [
        [4],
        [0],
    ]


def test_objects_that_vanish_in_the_simulation_stop_acting() -> None:
    class Watching(Pushing):
        vanish_above = 2.0

        def reward(self, before: Snapshot, after: Snapshot) -> Any:
            return before["Ball", "push"].sum(1)

    assert returns(Watching(), torch.tensor([[[2.5], [1.0], [1.0]]])).tolist() == [[2.5]]


def replaced(**methods: Any) -> Pushing:
    return type("Wrong", (Pushing,), methods)()


@pytest.mark.parametrize(
    ("simulator", "message"),
    [
        (
            replaced(step=lambda self, before, seed: before.map(lambda t: t[:1])),
            "Simulator.step: expected 2 rows as it was given, got 1. It has to return one next "
            "state for each row, in the same order.",
        ),
        (
            replaced(reward=lambda self, before, after: after["Ball", "x"]),
            "Simulator.reward: expected a tensor of numbers of shape (2,), one a row, got shape "
            '(2, 1). Reduce over the objects, as in after["Ball.x"].sum(1).',
        ),
        (
            replaced(reward=lambda self, before, after: 1.0),
            "Simulator.reward: expected a tensor of numbers of shape (2,), one a row, got float. "
            'Keep the rows apart, without float() or .item(), as in after["Ball.x"].sum(1), or '
            "repeat one for all of them: torch.full((after.batch_size,), 1.0).",
        ),
        (
            replaced(reward=lambda self, before, after: after["Ball", "x"].sum(1).numpy()),
            "Simulator.reward: expected a tensor of numbers of shape (2,), one a row, got ndarray. "
            'Stay with torch, without .numpy(), as in after["Ball.x"].sum(1).',
        ),
        (
            replaced(reward=lambda self, before, after: after["Ball", "x"].sum()),
            "Simulator.reward: expected a tensor of numbers of shape (2,), one a row, got shape "
            '(). Reduce over the objects only, not over the rows, as in after["Ball.x"].sum(1).',
        ),
        (
            replaced(reward=lambda self, before, after: None),
            "Simulator.reward: expected a tensor of numbers of shape (2,), one a row, got "
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
            "Simulator.terminated: expected a tensor of booleans of shape (2,), one a row, got "
            "shape (3,). The first axis of a batch is its rows: keep it whole, as in "
            '(after["Ball.x"] < 0).any(1).',
        ),
        (
            replaced(terminated=lambda self, after: False),
            "Simulator.terminated: expected a tensor of booleans of shape (2,), one a row, got "
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


def test_objects_that_appear_do_what_is_allowed() -> None:
    class Crane(ObjectClass):
        x = Real()
        lift = Integer(2, 5, action=True)

    lifts = []

    class Yard(Pushing):
        schema = Schema(Crane)

        def step(self, before: Snapshot, seed: int) -> Snapshot:
            lifts.append(before["Crane", "lift"].tolist())
            there = torch.ones_like(before.present["Crane"])
            return Snapshot.of(
                self.schema, {"Crane": {"x": before["Crane", "x"]}}, {"Crane": there}
            )

        def reward(self, before: Snapshot, after: Snapshot) -> Any:
            return after["Crane", "x"].sum(1)

        def terminated(self, after: Snapshot) -> Any:
            return after["Crane", "x"].amax(1) > 3

    here = torch.tensor([[True, False]])
    start = Snapshot.of(Schema(Crane), {"Crane": {"x": torch.zeros(1, 2)}}, {"Crane": here})
    sequences = torch.tensor([[[4.0], [5.0]]])
    discounted_returns(Yard(), start, ActionVariables.of(start), sequences, 1.0)
    assert lifts == [[[4, 0]], [[5, 2]]]
