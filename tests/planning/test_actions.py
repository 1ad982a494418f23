"""Which variables a planner chooses, and how they become actions."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.inference import with_actions
from oocdm.planning.actions import ActionVariables, acting_objects
from oocdm.schema import Integer, ObjectClass, Real, Schema
from tests.planning.toys import ACTIONS, GOALS, Robots

ALL = Robots(*ACTIONS)


def test_numbers_come_first_then_choices() -> None:
    variables = ActionVariables.of(ALL.state(GOALS))
    # Two worlds of two robots: push, throw (two numbers), hope, climb; paint, open.
    assert (variables.num_numbers, variables.num_choices) == (4 * 5, 4 * 2)
    assert variables.num_variables == len(variables.world) == 28
    assert variables.low[[0, 4, 12, 16]].tolist() == [-1, -1, -torch.inf, -3]
    assert variables.high[[0, 4, 12, 16]].tolist() == [1, 1, torch.inf, 3]
    assert variables.is_whole.tolist() == [False] * 16 + [True] * 4
    assert variables.num_values.tolist() == [4] * 4 + [2] * 4
    assert variables.max_values == 4
    assert variables.world[:8].tolist() == [0, 0, 1, 1, 0, 0, 0, 0]


@given(st.data())
def test_only_acting_objects_have_variables(data: st.DataObject) -> None:
    batch, objects = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    flags = st.lists(st.booleans(), min_size=batch * objects, max_size=batch * objects)
    present, can = (torch.tensor(data.draw(flags)).view(batch, objects) for _ in range(2))
    simulator = Robots("throw", "paint")
    goals = {
        "throw": torch.zeros(batch, objects, 2),
        "paint": torch.zeros(batch, objects, dtype=torch.long),
    }
    state = simulator.state(goals, present)
    variables = ActionVariables.of(state, {"Robot": can})
    acting = present & can
    assert variables.num_variables == 3 * int(acting.sum())
    values = torch.arange(1.0, 1 + 2 * variables.num_variables).view(2, -1)
    actions = variables.decode(values)["Robot"]
    assert actions["throw"].shape == (2 * batch, objects, 2)
    assert actions["throw"].dtype == torch.float32 and actions["paint"].dtype == torch.int64
    both = acting.repeat(2, 1)
    assert torch.equal(actions["throw"] != 0, both.unsqueeze(-1).expand(-1, -1, 2))
    assert torch.equal(actions["paint"] != 0, both)
    # Every value arrives once, in a row of its own sample.
    arrived = torch.cat([actions["throw"].reshape(2, -1), actions["paint"].reshape(2, -1)], 1)
    for sample in range(2):
        found = arrived[sample][arrived[sample] != 0]
        assert torch.equal(found.sort().values, values[sample].sort().values)
    for row in range(batch):
        columns = (variables.world == row).nonzero()[:, 0]
        mine = torch.cat([actions["throw"][row].flatten(), actions["paint"][row].flatten()])
        assert torch.equal(mine[mine != 0].sort().values, values[0][columns].sort().values)


def test_a_world_without_actions_cannot_be_planned() -> None:
    class Stone(ObjectClass):
        x = Real()

    state = Snapshot.of(Schema(Stone), {"Stone": {"x": torch.zeros(1, 1)}})
    message = (
        "Schema(Stone(x)): expected at least one action field, got none, so there is nothing to "
        "plan. Declare what can be chosen, such as push = Real(action=True)."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        ActionVariables.of(state)


@pytest.mark.parametrize(
    ("can_act", "message"),
    [
        (
            {"Robto": torch.ones(2, 2, dtype=torch.bool)},
            "can_act: unknown class `Robto`. Did you mean `Robot`? Known: Robot, Door.",
        ),
        (
            {"Robot": torch.ones(2, 3, dtype=torch.bool)},
            "can_act['Robot']: expected booleans of shape (2, 2) (batch, object), got torch.bool "
            "of shape (2, 3). Say of every row of the state's `Robot` whether it can act.",
        ),
        (
            {"Robot": torch.ones(2, 2)},
            "can_act['Robot']: expected booleans of shape (2, 2) (batch, object), got "
            "torch.float32 of shape (2, 2). Say of every row of the state's `Robot` whether it "
            "can act.",
        ),
    ],
)
def test_masks_must_fit(can_act: dict[str, torch.Tensor], message: str) -> None:
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        acting_objects(ALL.state(GOALS), can_act)


def test_actions_join_a_state_and_replace_older_ones() -> None:
    simulator = Robots("throw")
    present = torch.tensor([[True, False], [True, True]])
    state = simulator.state(GOALS, present)
    first = with_actions(state, {"Robot": {"throw": torch.ones(2, 2, 2)}})
    both = with_actions(first, {"Robot": {"throw": torch.full((2, 2, 2), 0.5)}})
    assert both["Robot", "throw"].tolist() == [[[0.5, 0.5], [0, 0]], [[0.5, 0.5], [0.5, 0.5]]]
    assert torch.equal(both.observed["Robot"]["throw"], present)
    assert torch.equal(both["Robot", "throw_goal"], state["Robot", "throw_goal"])
    assert "throw" not in state.values["Robot"]


class Crane(ObjectClass):
    """None of its actions allows 0, but for the last one."""

    x = Real()
    lift = Integer(2, 5, action=True)
    lower = Integer(-5, -2, action=True)
    pull = Real(0.3, 1.0, shape=(2,), action=True)
    turn = Real(-1.0, 1.0, action=True)


def test_newcomers_are_those_of_their_world_in_any_part_of_the_tries() -> None:
    """One crane in each of two worlds, then two: the others do what is nearest to nothing."""
    present = {"Crane": torch.tensor([[True, False], [False, True]])}
    state = Snapshot.of(Schema(Crane), {"Crane": {"x": torch.zeros(2, 2)}}, present)
    variables = ActionVariables.of(state)
    actions = variables.decode(torch.full((2, variables.num_variables), 3.0))
    now = {"Crane": torch.ones(4, 2, dtype=torch.bool)}
    whole = variables.with_newcomers(actions, now)["Crane"]["lift"]
    assert whole.tolist() == [[3, 2], [2, 3]] * 2
    for first in range(4):
        some = {"Crane": {f: value[first:] for f, value in actions["Crane"].items()}}
        there = {"Crane": now["Crane"][first:]}
        found = variables.with_newcomers(some, there, first)["Crane"]["lift"]
        assert torch.equal(found, whole[first:])


def test_those_that_cannot_act_do_what_is_allowed_and_nearest_to_nothing() -> None:
    """Of three cranes one acts, one is there and cannot, and one is absent."""
    present = {"Crane": torch.tensor([[True, True, False]])}
    state = Snapshot.of(Schema(Crane), {"Crane": {"x": torch.zeros(1, 3)}}, present)
    variables = ActionVariables.of(state, {"Crane": torch.tensor([[True, False, True]])})
    actions = variables.decode(torch.full((2, 5), 1.0))["Crane"]
    assert actions["lift"].tolist() == [[1, 2, 0]] * 2
    assert actions["lower"].tolist() == [[1, -2, 0]] * 2
    assert actions["turn"].tolist() == [[1, 0, 0]] * 2
    near = torch.tensor([[1.0, 1.0], [0.3, 0.3], [0.0, 0.0]])
    assert torch.equal(actions["pull"], near.expand(2, -1, -1))
    assert actions["lift"].dtype == torch.int64 and actions["pull"].dtype == torch.float32
