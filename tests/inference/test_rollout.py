"""Rollouts: many futures, their means and intervals."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from oocdm import ClassGraph, ModelError
from oocdm.inference import Dynamics, rollout, with_actions
from tests.inference.ragged import ragged, random_model

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
    values = found.values("Ant", "x")
    assert values.shape == (4, 3, 200, *STATE["Ant", "x"].shape[1:])
    low, high = found.interval("Ant", "x", share=0.8)
    mean = found.mean("Ant", "x")
    assert low.shape == high.shape == mean.shape == (4, *STATE["Ant", "x"].shape)
    inside = (values >= low.unsqueeze(2)) & (values <= high.unsqueeze(2))
    assert 0.79 < float(inside.double().mean()) < 0.85
    again = rollout(RESULT, STATE, ACTIONS, samples=200, seed=0)
    assert torch.equal(again.values("Ant", "x"), values)


def test_bad_input_is_a_clear_error() -> None:
    with pytest.raises(ModelError, match="expected at least 1 sample, got 0"):
        rollout(RESULT, STATE, ACTIONS, samples=0)
    with pytest.raises(ModelError, match=r"expected actions for the same number of steps .* none"):
        rollout(RESULT, STATE, {})
    with pytest.raises(ModelError, match="expected a share between 0 and 1, got 1"):
        rollout(RESULT, STATE, ACTIONS, samples=1).interval("Ant", "x", share=1)
