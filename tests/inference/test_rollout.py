"""Rollouts: many futures, their means and intervals."""

from __future__ import annotations

import re
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from oocdm import ClassGraph, ModelError, Snapshot
from oocdm.errors import short
from oocdm.inference import Dynamics, rollout, with_actions
from oocdm.models import memory
from oocdm.models.memory import measure
from oocdm.schema import ObjectClass, Real, Schema
from tests.inference import knobs
from tests.inference.ragged import ragged, random_model


class Stone(ObjectClass):
    x = Real()


DATA = ragged(is_whole=True)
RESULT = SimpleNamespace(model=random_model(DATA), graph=ClassGraph.full(DATA.schema))
STATE = DATA.transitions(slice(0, 3)).before
PUSH = torch.randn(4, *STATE.present["Ant"].shape, generator=torch.Generator().manual_seed(0))
ACTIONS = {"Ant": {"push": PUSH}}


def test_futures_are_drawn_step_by_step() -> None:
    found = rollout(RESULT, STATE, ACTIONS, samples=1, seed=5)
    generator = torch.Generator().manual_seed(5)
    now = STATE
    for step, state in enumerate(found.states):
        seed = int(torch.randint(2**62, (), generator=generator))
        now = Dynamics(RESULT).step(with_actions(now, {"Ant": {"push": PUSH[step]}}), seed)
        assert torch.equal(state["Ant", "x"], now["Ant", "x"])
    assert len(found) == 4


def test_intervals_hold_their_share_of_the_futures() -> None:
    found = rollout(RESULT, STATE, ACTIONS, samples=200, seed=0)
    values = found.values("Ant.x")
    assert torch.equal(found.values("Ant", "x"), values)
    assert values.shape == (4, 3, 200, *STATE["Ant", "x"].shape[1:])
    low, high = found.interval("Ant.x", share=0.8)
    mean = found.mean("Ant.x")
    assert low.shape == high.shape == mean.shape == (4, *STATE["Ant", "x"].shape)
    inside = (values >= low.unsqueeze(2)) & (values <= high.unsqueeze(2))
    assert 0.79 < float(inside.double().mean()) < 0.85
    again = rollout(RESULT, STATE, ACTIONS, samples=200, seed=0)
    assert torch.equal(again.values("Ant", "x"), values)


def test_a_world_without_actions_goes_on_by_itself() -> None:
    schema = Schema(Stone)
    data = ragged(schema, is_whole=True)
    result = SimpleNamespace(model=random_model(data), graph=ClassGraph.full(schema))
    found = rollout(result, data.transitions(slice(0, 2)).before, steps=5, samples=3)
    assert found.mean("Stone", "x").shape[:2] == (5, 2)


def test_a_class_may_have_nothing_but_actions() -> None:
    state = knobs.DATA.transitions(slice(0, 2)).before
    turn = torch.ones(4, 2, 2, dtype=torch.long)
    found = rollout(knobs.RESULT, state, {"Knob": {"turn": turn}}, samples=3)
    assert found.mean("Lamp", "x").shape == (4, 2, 3)


def test_whole_numbers_may_be_given_as_any_numbers() -> None:
    state = knobs.DATA.transitions(slice(0, 2)).before
    found = [
        rollout(knobs.RESULT, state, {"Knob": {"turn": turn}}, samples=2).mean("Lamp", "x")
        for turn in (torch.ones(4, 2, 2), torch.ones(4, 2, 2).long(), torch.ones(4, 2, 2).bool())
    ]
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])


@pytest.mark.parametrize("turned", [np.asarray, lambda t: t.double().numpy(), torch.Tensor.tolist])
def test_actions_may_be_arrays_or_lists(turned: Any) -> None:
    state = knobs.DATA.transitions(slice(0, 2)).before
    turn = torch.tensor([[[0, 1], [2, 0]], [[1, 1], [0, 2]]])
    expected, found = (
        rollout(knobs.RESULT, state, {"Knob": {"turn": each}}, samples=2).values("Lamp", "x")
        for each in (turn, turned(turn))
    )
    assert torch.equal(found, expected)
    expected, found = (
        rollout(RESULT, STATE, {"Ant": {"push": each}}, samples=2).values("Ant", "x")
        for each in (PUSH, turned(PUSH))
    )
    assert torch.equal(found, expected)


def test_arrays_of_the_caller_are_not_shared() -> None:
    push = PUSH.numpy().copy()
    before = with_actions(STATE, {"Ant": {"push": push[0]}})
    push[:] = 99.0
    assert torch.equal(before["Ant", "push"], PUSH[0])


def test_rollouts_print_in_a_line() -> None:
    assert (
        repr(rollout(RESULT, STATE, ACTIONS, samples=2)) == "Rollout(4 steps, 3 worlds, 2 samples)"
    )


def test_what_is_said_of_absent_objects_does_not_matter() -> None:
    state = knobs.DATA.transitions(slice(0, 1)).before
    present = {**state.present, "Knob": torch.tensor([[True, False]])}
    state = Snapshot.of(state.schema, state.values, present)
    turn = torch.tensor([[[1, 99]]] * 4)
    assert len(rollout(knobs.RESULT, state, {"Knob": {"turn": turn}}, samples=2)) == 4


BATCH = tuple(STATE.present["Ant"].shape)
LENGTHS = (
    "rollout: expected actions for the same number of steps in every field, and `steps` to be that "
    "or left out, got {}. Without action fields, say `steps`."
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"samples": 0},
            "rollout: `samples`: expected a whole number of at least 1, got 0. So many futures are "
            "drawn.",
        ),
        ({"actions": {}}, LENGTHS.format("neither")),
        ({"actions": None}, LENGTHS.format("neither")),
        ({"steps": 7}, LENGTHS.format("[4, 7]")),
        (
            {"steps": 0},
            "rollout: `steps`: expected a whole number of at least 1, got 0. So many are drawn.",
        ),
        (
            {"actions": {"Ant": {"push": PUSH[:0]}}},
            "rollout: steps of the actions: expected a whole number of at least 1, got 0. So many "
            "are drawn.",
        ),
        (
            {"actions": {"Ant": {"push": PUSH[:, :2]}}},
            f"Action `Ant.push`: expected values of shape {(4, *BATCH)} (step, world, object, "
            f"...), got shape {(4, 2, BATCH[1])}.",
        ),
        (
            {"actions": {}, "steps": 4},
            f"Action `Ant.push`: expected values of shape {(4, *BATCH)} (step, world, object, "
            "...), got none.",
        ),
        (
            {"actions": {"Ant": {"x": PUSH}}},
            "rollout: unknown action `Ant.x`. Known: push.",
        ),
        (
            {"actions": {"Ant": {"push": PUSH * torch.nan}}},
            "Action `Ant.push`: expected a finite number, got nan. The schema declares what the "
            "field allows.",
        ),
        (
            {"actions": PUSH},
            "rollout: `actions`: expected a mapping or None, got "
            f'{short(PUSH)}. Give them as {{"Ball": {{"push": values}}}}.',
        ),
        (
            {"actions": {"Ant": PUSH}},
            f"rollout: `actions.Ant`: expected a mapping, got {short(PUSH)}.",
        ),
        (
            {"actions": {"Ant": {"push": [[1.0], [1.0, 2.0]]}}},
            "Action `Ant.push`: expected a tensor, an array or lists of equal lengths, all of "
            "numbers, got list. Give categories by their numbers.",
        ),
        (
            {"result": "runs/x"},
            "rollout: `result`: expected a fitted result, got str 'runs/x'. Load it: "
            "oocdm.load('runs/x').",
        ),
        (
            {"result": RESULT.model},
            "rollout: `result`: expected a fitted result, got OocdmModel. Give what oocdm.fit or "
            "oocdm.load returned: it has a model and its graph.",
        ),
        (
            {"state": DATA},
            "rollout: `state`: expected an oocdm.Snapshot, got Dataset. Take states from it, such "
            "as data.transitions(slice(0, 1)).before.",
        ),
        (
            {"state": knobs.DATA.transitions().before},
            "rollout: expected a state of the model's schema, got another one: classes "
            "['Ant', 'Rock', 'Nest'] against ['Knob', 'Lamp'] (model against state). Give a state "
            "of the model's world.",
        ),
    ],
)
def test_mistakes(options: Any, message: str) -> None:
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        rollout(**{"result": RESULT, "state": STATE, "actions": ACTIONS, **options})


@pytest.mark.parametrize("wrong", [99, 3.7, -1, torch.nan])
@pytest.mark.parametrize("turned", [torch.clone, np.asarray, torch.Tensor.tolist])
def test_actions_that_the_schema_does_not_allow(wrong: float, turned: Any) -> None:
    turn = torch.ones(4, 2, 2)
    turn[3, 1, 0] = wrong
    turn = turned(turn)
    with pytest.raises(
        ModelError, match=r"^Action `Knob\.turn`: expected a whole number from 0 to 2"
    ):
        state = knobs.DATA.transitions(slice(0, 2)).before
        rollout(knobs.RESULT, state, {"Knob": {"turn": turn}})


def test_a_share_lies_between_0_and_1() -> None:
    with pytest.raises(ModelError, match="expected a share between 0 and 1, got 1"):
        rollout(RESULT, STATE, ACTIONS, samples=1).interval("Ant", "x", share=1)


def test_choices_have_probabilities_and_no_mean() -> None:
    found = rollout(RESULT, STATE, ACTIONS, samples=20, seed=0)
    shares = found.probabilities("Ant.heading")
    assert shares.shape == (4, *STATE["Ant", "heading"].shape, 3)
    assert torch.allclose(shares.sum(-1), torch.ones(()).double())
    first = (found.values("Ant", "heading") == 1).double().mean(2)
    assert torch.equal(shares[..., 1], first)
    for ask, name in ((found.mean, "mean"), (found.interval, "interval")):
        message = (
            f"{name}: expected a field of numbers, got `Ant.heading`, whose values have no order. "
            "Use probabilities()."
        )
        with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
            ask("Ant", "heading")
    with pytest.raises(ModelError, match=r"got `Ant\.x`\. Use mean\(\) and interval\(\)\.$"):
        found.probabilities("Ant", "x")


def test_many_futures_are_drawn_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rollout(RESULT, STATE, ACTIONS, samples=300, seed=0)
    most = measure(lambda: rollout(RESULT, STATE, ACTIONS, samples=300, seed=0)).peak
    sizes: list[int] = []
    step = Dynamics.step

    def counted_step(self: Dynamics, before: Snapshot, seed: int | None = None) -> Snapshot:
        sizes.append(before.batch_size)
        return step(self, before, seed)

    monkeypatch.setattr(Dynamics, "step", counted_step)
    limited = partial(memory.rows_at_once, limit=2_000_000)
    monkeypatch.setattr(sys.modules["oocdm.inference.rollout"], "rows_at_once", limited)
    used = measure(lambda: rollout(RESULT, STATE, ACTIONS, samples=300, seed=0)).peak
    sizes.clear()
    parts = rollout(RESULT, STATE, ACTIONS, samples=300, seed=0)
    assert max(sizes[-4:]) < 900 and used < most
    found = parts.values("Ant.x")
    assert found.shape == whole.values("Ant.x").shape
    # Other numbers are drawn, of the same distributions: also in the last part, of the last world.
    for drawn in (found, whole.values("Ant.x")):
        assert len(drawn[0, 2, :, 0].unique()) == 300
    spread = whole.values("Ant.x").std(2)
    far = (parts.mean("Ant.x") - whole.mean("Ant.x")).abs() / (spread / 300**0.5 + 1e-9)
    assert float(far.max()) < 6
    assert torch.equal(found, rollout(RESULT, STATE, ACTIONS, samples=300, seed=0).values("Ant.x"))
