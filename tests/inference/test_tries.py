"""What goes on alike in all that a planner tries is drawn once."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

import oocdm
from oocdm.data.snapshot import Snapshot
from oocdm.envs.mouse import MouseWorld
from oocdm.graph import ClassGraph
from oocdm.inference import Dynamics, with_actions
from oocdm.inference.remembered import RememberedSteps
from oocdm.models.fast import FastModel
from oocdm.models.features import Featuriser
from oocdm.models.oocdm.options import ModelOptions
from oocdm.schema import ObjectClass, Real, Schema

GRAPH = MouseWorld().true_graph
DATA = oocdm.collect(oocdm.make("mouse", num_food=(1, 3)), steps=60, seed=0)
STATE = DATA.transitions(slice(0, 8)).before.map(torch.clone)  # nothing of NumPy


class Ball(ObjectClass):
    x = Real()


SCHEMA = Schema(Ball)


class Drawn:
    """Counts how often something is drawn."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> torch.Tensor:
        self.times += 1
        return torch.full((1,), float(self.times))


def test_a_step_is_drawn_again_if_anything_it_depends_on_is_new() -> None:
    steps, draw = RememberedSteps(GRAPH, kept=9), Drawn()

    def ask(state: Snapshot, seed: int, c: str = "Monster", f: str = "position") -> float:
        return float(steps.next_value(c, f, state, seed, draw))

    first = ask(STATE, 0)
    other_moves = with_actions(STATE, {"Mouse": {"move": STATE["Mouse", "move"]}})
    assert ask(STATE, 0) == ask(other_moves, 0) == first
    assert ask(STATE, 1) != first
    assert ask(STATE, 0) == first
    assert ask(STATE.map(torch.clone), 0) != first  # equal values, but nobody knows that
    # Actions reach the mouse at once, its health one step later.
    moved, hurt = (ask(STATE, 0, "Mouse", f) for f in ("position", "health"))
    assert ask(other_moves, 0, "Mouse", "position") != moved
    assert ask(other_moves, 0, "Mouse", "health") == hurt


def test_a_step_is_drawn_again_if_anything_was_changed_in_place() -> None:
    fields, draw = RememberedSteps(GRAPH, kept=9), Drawn()
    state = STATE.map(torch.clone)

    def ask() -> torch.Tensor:
        return fields.next_value("Monster", "position", state, 0, draw)

    assert ask() is ask()
    assert draw.times == 1
    state["Monster", "position"].add_(1)
    assert ask() is ask()
    assert draw.times == 2
    state.present["Monster"].fill_(False)
    drawn = ask()
    assert draw.times == 3
    drawn.add_(1)  # what was handed out
    ask()
    assert draw.times == 4


def test_in_inference_mode_changes_in_place_are_seen_as_well() -> None:
    fields, draw = RememberedSteps(GRAPH, kept=9), Drawn()
    with torch.inference_mode():
        drawn = fields.next_value("Monster", "position", STATE, 0, draw)
        assert drawn is fields.next_value("Monster", "position", STATE, 0, draw)
        drawn.add_(1)
        assert drawn is not fields.next_value("Monster", "position", STATE, 0, draw)
        # Of what is made here nobody can say whether it was changed.
        made = STATE.map(torch.clone)
        times = draw.times
        for _ in range(2):
            fields.next_value("Monster", "position", made, 0, draw)
        assert draw.times == times + 2


def test_only_the_latest_steps_are_kept() -> None:
    graph = ClassGraph.parse(SCHEMA, ["Ball.x <- self.x"])
    steps, draw = RememberedSteps(graph, kept=2), Drawn()
    state = Snapshot.of(SCHEMA, {"Ball": {"x": torch.zeros(1, 1)}})
    for seed in (0, 1, 2, 2, 1):
        steps.next_value("Ball", "x", state, seed, draw)
    assert draw.times == 3
    steps.next_value("Ball", "x", state, 0, draw)
    assert draw.times == 4


@pytest.mark.parametrize("seed", range(3))
def test_remembering_changes_no_bit(seed: int) -> None:
    """Several sequences of actions from one state, as a planner tries them."""
    torch.manual_seed(seed)
    model = FastModel(DATA.schema, ModelOptions(), Featuriser.measure(DATA.transitions()))
    result = SimpleNamespace(
        model=model, graph=ClassGraph.parse(DATA.schema, str(GRAPH).split("\n"))
    )
    remembering, forgetful = Dynamics(result, ["Mouse.health"], 4), Dynamics(result)
    for tried in range(3):
        moves = torch.randint(5, (4, 8, 1), generator=torch.Generator().manual_seed(tried))
        ours = theirs = STATE
        for step in range(4):
            actions = {"Mouse": {"move": moves[step]}}
            ours = remembering.step(with_actions(ours, actions), seed=100 + step)
            theirs = forgetful.step(with_actions(theirs, actions), seed=100 + step)
            assert torch.equal(ours["Monster", "position"], theirs["Monster", "position"])
        assert torch.equal(ours["Mouse", "health"], theirs["Mouse", "health"])


def test_a_step_keeps_the_kind_of_numbers_of_its_field() -> None:
    steps, draw = RememberedSteps(GRAPH, kept=9), Drawn()
    monster = {**STATE.values["Monster"], "noise": STATE["Monster", "noise"].double()}
    other = replace(STATE, values={**STATE.values, "Monster": monster})
    steps.next_value("Monster", "noise", STATE, 0, draw)
    steps.next_value("Monster", "noise", STATE, 0, draw)
    assert draw.times == 1
    steps.next_value("Monster", "noise", other, 0, draw)
    assert draw.times == 2
