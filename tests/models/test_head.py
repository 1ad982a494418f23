"""From numbers to distributions: units, bounds and floors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from oocdm.graph import ClassGraph
from oocdm.models.head import CHANCE_FLOOR, Head, HeadOptions, _Cut
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prediction import ClassPrediction
from oocdm.models.scales import Scale, Scales
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema
from tests.models.strategies import random_transitions


class Tank(ObjectClass):
    level = Real(low=0.0, high=1.0, likelihood="normal")
    place = Real(shape=(2,), likelihood="normal")
    leaks = Boolean(likelihood="normal")
    kind = Categorical(5)
    size = Integer(0, 2, static=True, shape=(3,))


SCHEMA = Schema(Tank)
UNITS = {
    "level": Scale(*(torch.tensor([x]) for x in (0.5, 0.25, 0.125, 0.0625))),
    "place": Scale(*(torch.tensor([x, 2 * x]) for x in (10.0, 4.0, 1.0, 2.0))),
}
SCALES = Scales(
    {key: UNITS.get(key[1], scale) for key, scale in Scales.unit(SCHEMA).fields.items()}
)


def head(schema: Schema = SCHEMA, **options: Any) -> Head:
    return Head(schema, "Tank", SCALES, HeadOptions(**options))


def predict(
    head: Head, out: Tensor, linear: Tensor | None, now: Tensor, known: bool, has_self: bool
) -> ClassPrediction:
    """Of one tank; `out` are (target, output), `now` (target, component)."""
    lead = (1, 1)
    flags = torch.ones(*lead, 4, dtype=torch.bool)
    return head(
        out.expand(*lead, -1, -1),
        None if linear is None else linear.expand(*lead, -1, -1),
        now.expand(*lead, -1, -1),
        flags & known,
        flags.float() * has_self,
    )


def test_sizes_are_those_of_the_widest_target() -> None:
    """Three components of a field that is not predicted do not count; five choices do."""
    made = head()
    assert list(made.targets) == ["level", "place", "leaks", "kind"]
    assert (made.width, made.num_outputs) == (2, 5)
    assert made.spread("value_mean").tolist() == [[0.5, 0], [10, 20], [0, 0], [0, 0]]
    assert made.spread("change_sd").tolist() == [[0.0625, 1], [2, 4], [1, 1], [1, 1]]
    assert made.low.flatten().tolist() == [0, -math.inf, -1, 0]
    assert made.high.flatten().tolist() == [1, math.inf, 1, 4]


def test_a_floor_that_is_given_is_in_raw_units() -> None:
    made, nothing = head(sigma_floor=0.5), torch.full((4, 5), -100.0)  # of which softplus is 0
    now = torch.zeros(4, 2)
    found = predict(made, nothing, None, now, known=True, has_self=True)
    assert found.sigma[0, 0, 0, 0] == 0.5
    alone = made.of_target("place", has_self=True)(nothing[:1], None, now[:1])[1]
    assert alone is not None and alone.tolist() == [[0.5, 0.5]]


def test_without_a_floor_it_is_a_share_of_the_usual_change() -> None:
    still = Scale(*(torch.tensor([x]) for x in (0.5, 0.25, 0.0, 0.0)))
    scales = Scales({**SCALES.fields, ("Tank", "level"): still})
    made = Head(SCHEMA, "Tank", scales, HeadOptions())
    assert made.usual_change()[:2].tolist() == [[0.25, 1], [2, 4]]
    found = predict(made, torch.full((4, 5), -100.0), None, torch.zeros(4, 2), True, True)
    torch.testing.assert_close(found.sigma[0, 0, :2, 0], torch.tensor([0.25e-5, 2e-5]))


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("has_self", [False, True])
@pytest.mark.parametrize("predict_change", [False, True])
def test_normals_are_in_units_of_the_change_or_of_the_value(
    known: bool, has_self: bool, predict_change: bool
) -> None:
    made = head(predict_change=predict_change)
    made.calibrated_sigma[1] = torch.tensor([3.0, 0.0])
    out = torch.arange(20.0).view(4, 5) / 10  # of `place` 0.5 and 0.6, sigmas 0.7 and 0.8
    linear = torch.full((4, 5), 0.5)
    now = torch.full((4, 2), 100.0)
    found = predict(made, out, linear, now, known, has_self)
    scale, is_change = UNITS["place"], known and has_self and predict_change
    unit = scale.change_sd if is_change else scale.value_sd
    centre = 100 + scale.change_mean if is_change else scale.value_mean
    mean = centre + unit * torch.tensor([0.5, 0.6]) + 0.5 * (unit * scale.value_sd).sqrt()
    sigma = unit * functional.softplus(torch.tensor([0.7, 0.8])) + 1e-5 * scale.change_sd
    torch.testing.assert_close(found.mean[0, 0, 1], mean)
    torch.testing.assert_close(found.sigma[0, 0, 1], (sigma**2 + torch.tensor([9.0, 0.0])).sqrt())
    torch.testing.assert_close(found.logits["kind"][0, 0, 0], out[3] + 0.5)


@pytest.mark.parametrize("clamp_means", [False, True])
def test_means_keep_to_bounds(clamp_means: bool) -> None:
    made, now = head(clamp_means=clamp_means), torch.zeros(4, 2)
    for number in (-100.0, 0.3, 100.0):
        out = torch.full((4, 5), number)
        mean = predict(made, out, None, now, known=True, has_self=False).mean[0, 0]
        free = 0.5 + 0.25 * number
        expected = min(max(free, 0), 1) if clamp_means else 0.5 + 0.5 * math.tanh(free)
        assert mean[0, 0].item() == pytest.approx(expected)
        assert -1 <= mean[2, 0].item() <= 1
        assert mean[1].tolist() == pytest.approx([10 + 4 * number, 20 + 8 * number])


@pytest.mark.parametrize("clamp_means", [False, True])
@pytest.mark.parametrize("predict_change", [False, True])
@pytest.mark.parametrize("has_self", [False, True])
@pytest.mark.parametrize("with_linear", [False, True])
@pytest.mark.parametrize("likelihood", ["normal", "mixture", "auto"])
def test_a_single_target_has_the_head_of_all(
    clamp_means: bool, predict_change: bool, has_self: bool, with_linear: bool, likelihood: str
) -> None:
    torch.manual_seed(0)
    schema = SCHEMA.with_likelihood(likelihood)
    made = head(schema, clamp_means=clamp_means, predict_change=predict_change)
    made.calibrated_sigma.uniform_()
    made.calibrated_share.uniform_()
    made.choose(torch.tensor([False, True, False, False]))  # of those that are left to data
    out, now = torch.randn(4, made.num_outputs), torch.randn(4, 2)
    linear = torch.randn(4, made.num_linear_outputs) if with_linear else None
    expected = predict(made, out, linear, now, True, has_self)
    for i, (v, field) in enumerate(made.targets.items()):
        line = None if linear is None else linear[i : i + 1, : made.num_linear(v)]
        row = now[i : i + 1, : field.size]
        first, *others = made.of_target(v, has_self)(out[i : i + 1], line, row)
        if field.is_choice:
            torch.testing.assert_close(first.view(1, -1), expected.logits[v][0, 0])
            continue
        wide, numbers = expected.wide, [expected.mean, expected.sigma]
        assert (len(others) == 4) == bool(made.is_mixture[i])
        if made.is_mixture[i]:
            assert wide is not None
            numbers += [wide.mean, wide.sigma, wide.chance]
        for ours, theirs in zip([first, *others], numbers, strict=True):
            torch.testing.assert_close(ours[0], theirs[0, 0, i, : field.size])
    told = [likelihood == "mixture", likelihood != "normal"]
    assert made.is_mixture.tolist() == [*told, False, False]


def test_a_wide_part_begins_rare_and_wide() -> None:
    made = head(SCHEMA.with_likelihood("mixture"))
    out = torch.zeros(4, made.num_outputs)
    found = predict(made, out, None, torch.zeros(4, 2), known=True, has_self=True)
    assert found.wide is not None
    assert 0.005 < found.wide.chance[0, 0, 0, 0] < 0.02
    added = (found.wide.sigma - found.sigma)[0, 0, :2, 0]
    torch.testing.assert_close(added, made.usual_change()[:2, 0], rtol=1e-2, atol=0)
    assert torch.equal(found.wide.mean[0, 0, :2], found.mean[0, 0, :2])


def test_chances_are_never_0_or_1() -> None:
    made = head(SCHEMA.with_likelihood("mixture"))
    for size, expected in ((-1e3, CHANCE_FLOOR), (1e3, 1 - CHANCE_FLOOR)):
        out = torch.full((4, made.num_outputs), size)
        found = predict(made, out, None, torch.zeros(4, 2), known=True, has_self=True)
        assert found.wide is not None
        assert found.wide.chance[0, 0, 0, 0].item() == pytest.approx(expected)


def test_an_edge_that_is_there_in_part_gives_units_between() -> None:
    flags = torch.ones(1, 1, 4)
    found = head()(torch.zeros(1, 1, 4, 5), None, torch.zeros(1, 1, 4, 2), flags, flags / 4)
    assert found.mean[0, 0, 1].tolist() == pytest.approx([7.75, 15.5])


def test_means_beyond_their_bounds_can_come_back() -> None:
    """Where all means of a field are cut off, gradients still lead back, but not further out."""
    low, high = torch.tensor(0.0), torch.tensor(10.0)
    mean = torch.tensor([-3.0, -3.0, 5.0, 12.0, 12.0, 10.0], requires_grad=True)
    cut = _Cut.apply(mean, low, high)
    assert cut.tolist() == [0.0, 0.0, 5.0, 10.0, 10.0, 10.0]
    gradient = torch.tensor([-1.0, 1.0, 1.0, 1.0, -1.0, -1.0])  # steps go against it
    cut.backward(gradient)
    assert mean.grad is not None
    assert mean.grad.tolist() == [-1.0, 0.0, 1.0, 1.0, 0.0, -1.0]


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("beyond", [-50.0, 50.0])
def test_bounded_fields_are_learned_from_beyond_their_bounds(literal: bool, beyond: float) -> None:
    schema = Schema(type("Tank", (ObjectClass,), {"level": Real(low=0.0, high=1.0)}))
    torch.manual_seed(0)
    model = OocdmModel(schema, ModelOptions(), literal=literal)
    transitions = random_transitions(schema, {"Tank": 3}, 8, np.random.default_rng(0))
    model.heads["Tank"].scales.value_mean.fill_(beyond)
    model.heads["Tank"].scales.change_mean.fill_(beyond)
    structures = model.structures(ClassGraph.full(schema))
    (predictions,) = model(model.inputs(transitions.before), structures)
    mean = predictions["Tank.level"].mean
    assert (mean == (0.0 if beyond < 0 else 1.0)).all()
    mean.sum().backward()
    moved = [p.grad.abs().sum() for p in model.parameters() if p.grad is not None]
    # The sum falls by going down, which leads back from above and further out from below.
    assert (sum(map(float, moved)) > 0) == (beyond > 0)
