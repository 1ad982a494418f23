"""Distributions of single fields and their log-likelihoods."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch.distributions import Categorical as Choice
from torch.distributions import MixtureSameFamily, Normal

from oocdm.models.features import Targets
from oocdm.models.mixture_field import MixtureField
from oocdm.models.normal_field import NormalField
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.prediction import (
    CategoricalField,
    ClassPrediction,
    Predictions,
    WidePart,
    log_floored_softmax,
)
from oocdm.schema import Boolean, Categorical, Field, Integer, ObjectClass, Real, Schema
from tests.models.strategies import Case, cases, targets_of


def predict(case: Case) -> tuple[OocdmModel, Predictions]:
    model = case.model()
    with torch.no_grad():
        (found,) = model(model.inputs(case.before), case.structures(model, 2))
    return model, found


def domain_value(field: Field, values: Tensor) -> Tensor:
    """Unknown values hold 0, which not every domain has."""
    low, high = field.low, field.high
    return values if low is None and high is None else values.clamp(low, high)


@settings(max_examples=40)
@given(cases())
def test_log_prob_equals_torch_distributions(case: Case) -> None:
    model, predictions = predict(case)
    scores = predictions.log_prob(model.targets(case.transitions))
    for c, v in targets_of(case.schema):
        field, found = case.schema.field(c, v), predictions[c, v]
        value = domain_value(field, case.transitions.after.values[c][v])
        if isinstance(found, NormalField):
            number = value * 2.0 - 1.0 if isinstance(field, Boolean) else value
            expected = Normal(found.mean, found.sigma).log_prob(number)
        elif isinstance(found, MixtureField):
            chances = torch.stack([1 - found.chance, found.chance], -1)
            parts = found.narrow, found.wide
            normals = Normal(
                *(torch.stack([getattr(p, n) for p in parts], -1) for n in ("mean", "sigma"))
            )
            expected = MixtureSameFamily(Choice(probs=chances), normals, False).log_prob(value)
        else:
            choice = Choice(probs=found.log_probabilities.exp())
            expected = choice.log_prob(value - int(field.low or 0))
        expected = expected.sum(-1) if field.shape else expected
        known = case.transitions.known(c, v)
        column = scores[c][:, :, case.schema.targets(c).index(v)]
        torch.testing.assert_close(column[known], expected[known], rtol=1e-9, atol=1e-9)
        assert not column[~known].any()


def one_class(
    field: Field, mean: Tensor, sigma: Tensor, logits: Tensor | None = None
) -> Predictions:
    """Predictions of a schema with one field `Thing.f`; (batch, object, component) each."""
    schema = Schema(type("Thing", (ObjectClass,), {"f": field}))
    by_target = {} if logits is None else {"f": logits}
    prediction = ClassPrediction(mean.unsqueeze(2), sigma.unsqueeze(2), by_target)
    return Predictions(schema, {"Thing": prediction})


def targets(values: Tensor, known: Tensor | None = None) -> Targets:
    """Targets from (batch, object, component)."""
    known = torch.ones(values.shape[:2], dtype=torch.bool) if known is None else known
    return Targets({"Thing": values.unsqueeze(2)}, {"Thing": known.unsqueeze(2)})


def test_padding_may_be_outside_the_domain() -> None:
    unit = torch.ones(1, 2, 1)
    predictions = one_class(Integer(2, 4), unit, unit, torch.zeros(1, 2, 1, 3))
    scores = predictions.log_prob(
        targets(torch.tensor([[[3.0], [0.0]]]), torch.tensor([[True, False]]))
    )
    assert scores["Thing"].flatten().tolist() == pytest.approx([-math.log(3), 0.0], abs=1e-5)


def test_unknown_targets_score_zero_even_where_the_density_is_infinite() -> None:
    predictions = one_class(Real(), torch.zeros(1, 1, 1), torch.zeros(1, 1, 1))
    scores = predictions.log_prob(targets(torch.zeros(1, 1, 1), torch.tensor([[False]])))
    assert scores["Thing"].tolist() == [[[0.0]]]


def test_probabilities_have_a_floor() -> None:
    log_probabilities = log_floored_softmax(torch.tensor([0.0, 1000.0, -1000.0]))
    expected = torch.tensor([1e-5, 1 + 1e-5, 1e-5]) / (1 + 3e-5)
    torch.testing.assert_close(log_probabilities.exp(), expected)


def test_a_boolean_as_a_normal_lives_on_minus_one_and_one() -> None:
    mean, sigma = torch.tensor([[[0.9], [-0.8]]]), torch.full((1, 2, 1), 0.5)
    predictions = one_class(Boolean(likelihood="normal"), mean, sigma)
    assert predictions["Thing", "f"].mode().tolist() == [[1, 0]]
    scores = predictions.log_prob(targets(torch.tensor([[[1.0], [1.0]]])))
    expected = Normal(mean, sigma).log_prob(torch.ones(1, 2, 1))
    torch.testing.assert_close(scores["Thing"], expected)


def test_resolution_is_the_expected_score_of_blurred_targets() -> None:
    generator = torch.Generator().manual_seed(0)
    shape = (2, 3, 2)
    mean, value = (torch.randn(shape, generator=generator).double() for _ in range(2))
    sigma = 0.1 + torch.rand(shape, generator=generator).double()
    blur = torch.tensor([[0.3, 0.05]]).double()
    predictions = one_class(Real(shape=(2,)), mean, sigma)
    exact = predictions.log_prob(targets(value), {"Thing": blur})["Thing"].squeeze(-1)
    noise = torch.randn(100_000, *shape, generator=generator).double()
    blurred = Normal(mean, (sigma.square() + blur.square()).sqrt())
    draws = blurred.log_prob(value + blur * noise).sum(-1)
    error = draws.std(0) / len(draws) ** 0.5
    assert ((draws.mean(0) - exact).abs() < 5 * error).all()


def test_blurred_mixtures_score_no_more_than_is_expected() -> None:
    """What is scored is a lower bound, which is exact where a value is clearly of one part."""
    generator = torch.Generator().manual_seed(0)
    mean, value = torch.zeros(1, 5, 1).double(), torch.tensor([0.0, 0.3, 0.8, 2.0, 9.0]).double()
    narrow, wide, blur = 0.1, 5.0, torch.tensor([[0.2]]).double()
    chance, shape = torch.full_like(mean, 0.02), (1, 5, 1, 1)
    part = WidePart(
        mean.view(shape) + 1, mean.view(shape) + wide, chance.view(shape), torch.tensor([True])
    )
    single = ClassPrediction(mean.view(shape), mean.view(shape) + narrow, {}, part)
    schema = Schema(type("Thing", (ObjectClass,), {"f": Real()}))
    predictions = Predictions(schema, {"Thing": single})
    found = predictions.log_prob(targets(value.view(1, 5, 1)), {"Thing": blur})["Thing"].flatten()
    noisy = value + 0.2 * torch.randn(100_000, 5, generator=generator).double()
    each = [
        Normal(centre, math.hypot(sd, 0.2)).log_prob(noisy) + math.log(share)
        for centre, sd, share in ((0.0, narrow, 0.98), (1.0, wide, 0.02))
    ]
    draws = torch.logaddexp(*each)
    error = draws.std(0) / len(draws) ** 0.5
    assert (found < draws.mean(0) + 5 * error).all()
    clear = [0, 4]
    assert ((found - draws.mean(0)).abs() < 5 * error + 0.01)[clear].all()


def test_no_resolution_is_resolution_zero() -> None:
    mean, sigma = torch.tensor([[[0.3]]]), torch.tensor([[[0.7]]])
    predictions, wanted = one_class(Real(), mean, sigma), targets(torch.tensor([[[1.1]]]))
    zero = predictions.log_prob(wanted, {"Thing": torch.zeros(1, 1)})
    assert torch.equal(zero["Thing"], predictions.log_prob(wanted)["Thing"])


@settings(max_examples=40)
@given(cases())
def test_samples_and_modes_stay_in_the_domain(case: Case) -> None:
    _, predictions = predict(case)
    generator = torch.Generator().manual_seed(case.seed)
    for c, v in targets_of(case.schema):
        field = case.schema.field(c, v)
        for drawn in (predictions[c, v].sample(generator), predictions[c, v].mode()):
            assert drawn.shape == (6, case.before.counts[c], *field.shape)
            assert drawn.is_floating_point() == isinstance(field, Real)
            assert not field.out_of_domain(drawn.numpy()).any()


def test_samples_follow_the_distribution() -> None:
    generator = torch.Generator().manual_seed(0)
    log_probabilities = torch.tensor([0.2, 0.5, 0.3]).log().expand(1, 20_000, 3)
    drawn = CategoricalField(Integer(4, 6), log_probabilities).sample(generator)
    shares = [(drawn == value).double().mean().item() for value in (4, 5, 6)]
    assert shares == pytest.approx([0.2, 0.5, 0.3], abs=0.02)
    drawn = NormalField(Real(), torch.full((1, 20_000), 3.0), torch.tensor(2.0)).sample(generator)
    assert drawn.mean().item() == pytest.approx(3.0, abs=0.1)
    assert drawn.std().item() == pytest.approx(2.0, abs=0.1)


def test_samples_depend_on_the_generator_only() -> None:
    found = one_class(Real(), torch.zeros(2, 3, 1), torch.ones(2, 3, 1))["Thing.f"]
    draws = [found.sample(torch.Generator().manual_seed(1)) for _ in range(2)]
    assert torch.equal(*draws)


def test_whole_numbers_are_rounded_and_clipped() -> None:
    field = Integer(0, 7, likelihood="normal")
    mean = torch.tensor([[[2.6], [-3.0], [9.0]]])
    assert one_class(field, mean, torch.ones(1, 3, 1))["Thing", "f"].mode().tolist() == [[3, 0, 7]]


def test_the_mode_of_a_choice_is_a_value_of_the_field() -> None:
    logits = torch.tensor([[[[0.0, 5.0, 1.0], [4.0, 0.0, 0.0]]]])
    unit = torch.ones(1, 1, 2)
    field = Integer(-2, 0, shape=(2,))
    found = one_class(field, unit, unit, logits)["Thing", "f"]
    assert found.mode().tolist() == [[[-1, -2]]]
    found = one_class(Categorical(3), unit[..., :1], unit[..., :1], logits[:, :, :1])["Thing", "f"]
    assert found.mode().tolist() == [[1]]


def test_map_reaches_every_tensor() -> None:
    unit = torch.ones(2, 1, 1)
    predictions = one_class(Categorical(3), unit, unit, torch.zeros(2, 1, 1, 3))
    halved = predictions.map(lambda t: t[:1]).classes["Thing"]
    assert [len(t) for t in (halved.mean, halved.sigma, halved.logits["f"])] == [1, 1, 1]
    assert np.isclose(predictions["Thing", "f"].log_probabilities.exp().sum().item(), 2.0)


def test_draws_of_choices_follow_from_the_generator_alone() -> None:
    """They are made on the processor, whatever device the model is on."""
    logits = torch.randn(6, 3, 5, generator=torch.Generator().manual_seed(0))
    field = CategoricalField(Categorical(5), log_floored_softmax(logits))
    drawn = field.sample(torch.Generator().manual_seed(1))
    uniform = torch.rand(6, 3, generator=torch.Generator().manual_seed(1))
    # The first value whose cumulated probability is above the random number.
    is_above = field.log_probabilities.exp().cumsum(-1) > uniform.unsqueeze(-1)
    assert torch.equal(drawn, is_above.int().argmax(-1)) and drawn.device == logits.device


def test_choices_are_drawn_as_often_as_they_are_probable() -> None:
    shares = torch.tensor([0.5, 0.1, 0.0, 0.4])
    log_probabilities = shares.log().expand(20_000, 1, 4)
    field = CategoricalField(Integer(3, 6), log_probabilities)
    drawn = field.sample(torch.Generator().manual_seed(0)).flatten()
    counts = torch.bincount(drawn - 3, minlength=4) / len(drawn)
    assert counts.tolist() == pytest.approx(shares.tolist(), abs=0.015)
    assert counts[2] == 0
