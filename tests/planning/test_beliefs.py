"""Sampling from beliefs and fitting them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oocdm.data.snapshot import Snapshot
from oocdm.planning.actions import ActionVariables
from oocdm.planning.beliefs import Belief
from oocdm.schema import Integer, ObjectClass, Real, Schema
from tests.planning.toys import ACTIONS, GOALS, Robots

VARIABLES = ActionVariables.of(Robots(*ACTIONS).state(GOALS))
INITIAL = Belief.initial(VARIABLES, horizon=3)
N = VARIABLES.num_numbers


def noise(samples: int, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    shape = (samples, 3, VARIABLES.num_variables)
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_at_first_nothing_is_known() -> None:
    assert INITIAL.horizon == 3
    first = [(float(INITIAL.mean[0, i]), float(INITIAL.sd[0, i])) for i in (0, 12, 16)]
    assert first == [(0.0, 0.5), (0.0, 1.0), (0.0, 1.5)]  # push, hope, climb
    assert INITIAL.probabilities[0, 0].tolist() == [0.25] * 4
    assert INITIAL.probabilities[0, -1].tolist() == [0.5, 0.5, 0, 0]


def test_numbers_open_at_one_end_start_next_to_zero() -> None:
    class Tap(ObjectClass):
        x = Real()
        a = Real(low=2.0, action=True)
        b = Real(high=-1.0, action=True)
        c = Integer(low=-4, action=True)

    state = Snapshot.of(Schema(Tap), {"Tap": {"x": torch.zeros(1, 1)}})
    belief = Belief.initial(ActionVariables.of(state), horizon=1)
    assert belief.mean.tolist() == [[2.0, -1.0, 0.0]]
    assert belief.sd.tolist() == [[1.0, 1.0, 1.0]]


@given(st.integers(0, 1000), st.sampled_from([0.1, 1.0, 100.0, 1e6]))
def test_samples_lie_in_the_domain(seed: int, scale: float) -> None:
    values = INITIAL.sample(noise(5, seed, scale))
    numbers, choices = values[..., :N], values[..., N:]
    assert ((numbers >= VARIABLES.low) & (numbers <= VARIABLES.high)).all()
    whole = numbers[..., VARIABLES.is_whole]
    assert torch.equal(whole, whole.round())
    assert torch.equal(choices, choices.round())
    assert ((choices >= 0) & (choices < VARIABLES.num_values)).all()


@given(st.integers(0, 1000), st.integers(0, 3))
def test_what_is_impossible_is_never_chosen(seed: int, only: int) -> None:
    probabilities = torch.zeros_like(INITIAL.probabilities)
    probabilities[:, :4, only] = 0.999  # rounding may leave less than 1
    probabilities[:, 4:, only % 2] = 1.001
    belief = replace(INITIAL, probabilities=probabilities)
    choices = belief.sample(noise(5, seed, scale=100.0))[..., N:]
    assert (choices[..., :4] == only).all() and (choices[..., 4:] == only % 2).all()


def test_choices_are_as_frequent_as_they_are_probable() -> None:
    probabilities = torch.tensor([0.1, 0.2, 0.3, 0.4]).expand(3, 8, 4).clone()
    probabilities[:, 4:] = torch.tensor([0.75, 0.25, 0, 0])
    choices = replace(INITIAL, probabilities=probabilities).sample(noise(4000))[..., N:]
    share = torch.stack([(choices == k).float().mean((0, 1)) for k in range(4)], -1)
    assert torch.allclose(share, probabilities[0], atol=0.03)


def test_refit_is_weighted_maximum_likelihood() -> None:
    values = INITIAL.sample(noise(50))
    weights = torch.rand(50, 2, generator=torch.Generator().manual_seed(1))
    found = INITIAL.refit(values, weights)
    world = VARIABLES.world.numpy()
    for variable in (0, 3, 13, 18):
        w, x = weights[:, world[variable]].numpy(), values[:, 1, variable].numpy()
        mean = np.average(x, weights=w)
        assert float(found.mean[1, variable]) == pytest.approx(mean, abs=1e-5)
        sd = np.sqrt(np.average((x - mean) ** 2, weights=w))
        assert float(found.sd[1, variable]) == pytest.approx(sd, abs=1e-5)
    for choice in range(8):
        w = weights[:, world[N + choice]].numpy()
        for value in range(4):
            share = w[values[:, 2, N + choice].numpy() == value].sum() / w.sum()
            assert float(found.probabilities[2, choice, value]) == pytest.approx(share, abs=1e-5)


def test_smoothing_keeps_a_share() -> None:
    values, weights = INITIAL.sample(noise(10)), torch.full((10, 2), 0.1)
    plain, smooth = INITIAL.refit(values, weights), INITIAL.refit(values, weights, 0.25)
    for name in ("mean", "sd", "probabilities"):
        expected = 0.75 * getattr(plain, name) + 0.25 * getattr(INITIAL, name)
        assert torch.allclose(getattr(smooth, name), expected)


def test_widening_restores_doubts_and_leaves_the_means() -> None:
    sure = INITIAL.refit(INITIAL.sample(noise(1)), torch.ones(1, 2))
    wide = sure.widen(INITIAL, 0.5)
    assert torch.equal(wide.mean, sure.mean)
    assert torch.equal(wide.sd, INITIAL.sd)
    assert torch.allclose(wide.probabilities, (sure.probabilities + INITIAL.probabilities) / 2)


def test_the_mode_lies_in_the_domain() -> None:
    mean = torch.full_like(INITIAL.mean, 2.6)
    probabilities = INITIAL.probabilities.clone()
    probabilities[..., 1] += 0.1
    mode = replace(INITIAL, mean=mean, probabilities=probabilities).mode()
    assert mode.shape == (3, 28)
    assert mode[0, [0, 4, 12, 16, 20, 27]].tolist() == pytest.approx([1, 1, 2.6, 3, 1, 1])


def test_no_choices_and_no_numbers() -> None:
    for name, shape in (("push", (4, 0)), ("open", (0, 4))):
        variables = ActionVariables.of(Robots(name).state(GOALS))
        belief = Belief.initial(variables, horizon=2)
        assert (belief.mean.shape[1], belief.probabilities.shape[1]) == shape
        values = belief.sample(torch.zeros(3, 2, 4))
        assert values.shape == (3, 2, 4)
        again = belief.refit(values, torch.full((3, 2), 1 / 3))
        assert again.mode().shape == (2, 4)


def test_open_numbers_are_looked_for_as_far_as_they_usually_are() -> None:
    class Ball(ObjectClass):
        x = Real()
        push = Real(action=True, shape=(2,))
        turn = Real(-1.0, 1.0, action=True)

    state = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(1, 2)}})
    sizes = {"push": torch.tensor([3.0, 4e9]), "turn": torch.tensor([7.0])}
    variables = ActionVariables.of(state, size_of=lambda c, f: sizes[f])
    belief = Belief.initial(variables, horizon=1)
    assert belief.sd.tolist() == [[3.0, 4e9, 3.0, 4e9, 0.5, 0.5]]
    assert not belief.mean.any()
