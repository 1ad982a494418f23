"""What sequences of actions earn."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.planning.actions import ActionVariables
from oocdm.planning.discounting import discounted_returns
from oocdm.schema import Integer, ObjectClass, Real, Schema
from tests.planning.pushing import Pushing, replaced, returns


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


@pytest.mark.parametrize("row", range(4))
def test_a_part_of_the_rows_earns_what_it_earns_in_the_whole(row: int) -> None:
    """Of two samples of two worlds, each of which gets another ball that nobody pushes."""

    class Growing(Pushing):
        def step(self, before: Snapshot, seed: int) -> Snapshot:
            after = super().step(before, seed)
            there = torch.ones_like(before.present["Ball"])
            return Snapshot.of(self.schema, after.values, {"Ball": there})

        def reward(self, before: Snapshot, after: Snapshot) -> Any:
            return (before["Ball", "push"] * torch.tensor([1.0, 10.0])).sum(1)

    here = {"Ball": torch.tensor([[True, False], [False, True]])}
    start = Snapshot.of(Pushing.schema, {"Ball": {"x": torch.zeros(2, 2)}}, here)
    variables = ActionVariables.of(start)
    pushes = torch.tensor([[[0.1, 0.2]] * 2, [[0.3, 0.4]] * 2])
    tries = start.map(lambda t: t.repeat(2, 1))
    whole = discounted_returns(Growing(), tries, variables, pushes, 1.0)
    assert torch.allclose(whole, torch.tensor([0.2, 4.0, 0.6, 8.0], dtype=torch.float64))
    alone, sample = tries.map(lambda t: t[row : row + 1]), pushes[row // 2 :][:1]
    found = discounted_returns(Growing(), alone, variables, sample, 1.0, skipped=row % 2)
    assert torch.equal(found, whole[row : row + 1])


def test_a_step_keeps_its_rows() -> None:
    simulator = replaced(step=lambda self, before, seed: before.map(lambda t: t[:1]))
    message = (
        "Simulator.step: expected 2 rows as it was given, got 1. It has to return one next state "
        "for each row, in the same order."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        returns(simulator, torch.zeros(2, 2, 1))
