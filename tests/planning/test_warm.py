"""What one plan leaves for the next, while objects come and go."""

from __future__ import annotations

import re

import pytest
import torch

from oocdm.errors import PlanError
from oocdm.planning.actions import ActionVariables
from oocdm.planning.beliefs import Belief
from oocdm.planning.warm import WarmStart
from tests.planning.toys import GOALS, Robots

SIMULATOR = Robots("push", "paint")
HORIZON = 3


def variables(present: list[list[bool]]) -> ActionVariables:
    objects = len(present[0])
    goals = {n: GOALS[n][:1, :1].expand(len(present), objects) for n in ("push", "paint")}
    return ActionVariables.of(SIMULATOR.state(goals, torch.tensor(present)))


def warm_start(present: list[list[bool]]) -> WarmStart:
    """Means 10 * world + object + step / 10; paint's probabilities all on the step's number."""
    found = variables(present)
    initial = Belief.initial(found, HORIZON)
    place = torch.zeros(found.num_variables)
    for grid in found.grids.values():
        world, row, _ = (grid >= 0).nonzero(as_tuple=True)
        place[grid[grid >= 0]] = 10.0 * world + row
    steps = torch.arange(HORIZON).float().unsqueeze(-1)
    mean = place[: found.num_numbers] + steps / 10
    probabilities = torch.eye(4)[:HORIZON].unsqueeze(1).expand(-1, found.num_choices, -1)
    belief = Belief(found, mean, torch.full_like(mean, 0.1), probabilities)
    elites = torch.stack([place + steps / 10, place - 100 + steps / 10])
    assert initial.probabilities.shape == probabilities.shape
    return WarmStart(found.grids, belief, elites)


ALL = [[True, True], [True, True]]


def test_a_step_later_everything_has_moved() -> None:
    initial = Belief.initial(variables(ALL), HORIZON)
    belief = warm_start(ALL).belief_for(initial)
    assert belief.mean[:, 3].tolist() == pytest.approx([11.1, 11.2, 0.0])
    assert belief.sd[:, 3].tolist() == pytest.approx([0.1, 0.1, 0.5])
    assert belief.probabilities[:, 3].argmax(-1).tolist()[:2] == [1, 2]
    assert belief.probabilities[2, 3].tolist() == [0.25] * 4


def test_objects_that_come_start_afresh_and_the_others_keep_their_place() -> None:
    """One of world 0 dies, one of world 1 joins, and there is a further row of padding."""
    now = variables([[False, True, False], [True, True, True]])
    initial = Belief.initial(now, HORIZON)
    warm = warm_start([[True, True], [False, True]])
    belief = warm.belief_for(initial)
    assert belief.mean[0].tolist() == pytest.approx([1.1, 0.0, 11.1, 0.0])
    assert belief.sd[0].tolist() == pytest.approx([0.1, 0.5, 0.1, 0.5])
    assert belief.probabilities[0].amax(-1).tolist() == [1.0, 0.25, 1.0, 0.25]
    fresh = torch.full((2, HORIZON, now.num_variables), 7.0)
    elites = warm.elites_for(initial, fresh)
    assert elites[0, 0].tolist() == pytest.approx([1.1, 7, 11.1, 7] * 2)
    assert elites[1, 1].tolist() == pytest.approx([-98.8, 7, -88.8, 7] * 2)
    assert (elites[:, 2] == 7).all()
    assert torch.equal(fresh, torch.full_like(fresh, 7.0))


def test_worlds_can_be_left_out_reordered_and_added() -> None:
    warm = warm_start(ALL).select(torch.tensor([1, -1, 0]))
    assert warm.batch_size == 3
    initial = Belief.initial(variables([[True, True]] * 3), HORIZON)
    assert warm.belief_for(initial).mean[0].tolist() == pytest.approx([10.1, 11.1, 0, 0, 0.1, 1.1])


def test_nobody_acted_before() -> None:
    initial = Belief.initial(variables(ALL), HORIZON)
    belief = warm_start([[False, False], [False, False]]).belief_for(initial)
    for name in ("mean", "sd", "probabilities"):
        assert torch.equal(getattr(belief, name), getattr(initial, name))


def test_nobody_acts_now() -> None:
    initial = Belief.initial(variables([[False], [False]]), HORIZON)
    assert warm_start(ALL).belief_for(initial).mean.shape == (HORIZON, 0)


ADVICE = "Give the `warm` of the plan made one step earlier by the same planner, or None."


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        (
            Belief.initial(variables(ALL[:1]), HORIZON),
            f"warm: expected a plan of 1 worlds, got one of 2 worlds. {ADVICE}",
        ),
        (
            Belief.initial(variables(ALL), 5),
            f"warm: expected a plan of 5 steps, got one of 3 steps. {ADVICE}",
        ),
        (
            Belief.initial(ActionVariables.of(Robots("push").state(GOALS)), HORIZON),
            "warm: expected a plan of Schema(Robot(push_goal, push [action], mass [static]), "
            "Door(width)), got one of Schema(Robot(push_goal, paint_goal, push [action], "
            f"paint [action], mass [static]), Door(width)). {ADVICE}",
        ),
    ],
)
def test_another_plan_is_refused(initial: Belief, message: str) -> None:
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        warm_start(ALL).belief_for(initial)
