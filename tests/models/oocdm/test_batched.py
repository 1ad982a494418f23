"""The evaluator for training against the literal one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.errors import ModelError
from tests.models.strategies import (
    Case,
    assert_near,
    at_receivers,
    cases,
    drawn_receivers,
    gradients_of,
)

NUM_STRUCTURES = st.sampled_from([1, 2, 3, 6])


@settings(max_examples=120)
@given(cases(), NUM_STRUCTURES)
def test_batched_equals_literal(case: Case, num: int) -> None:
    fast, literal = case.model(), case.model(literal=True)
    inputs, structures = fast.inputs(case.before), case.structures(fast, num)
    with torch.no_grad():
        assert_near(*fast(inputs, structures), *literal(inputs, structures))


@settings(max_examples=40)
@given(cases(), NUM_STRUCTURES)
def test_gradients_equal_the_literal_ones(case: Case, num: int) -> None:
    models = case.model(), case.model(literal=True)
    fast, literal = (
        gradients_of(
            model, *model(model.inputs(case.before), case.structures(model, num)), case.seed
        )
        for model in models
    )
    for name, gradient in literal.items():
        assert gradient.isfinite().all(), name
        torch.testing.assert_close(fast[name], gradient, rtol=1e-7, atol=1e-7, msg=name)


@settings(max_examples=30)
@given(cases())
def test_structures_share_the_batch_evenly_and_in_order(case: Case) -> None:
    model = case.model()
    structures = case.structures(model, 3)
    inputs = model.inputs(case.before)
    with torch.no_grad():
        (together,) = model(inputs, structures)
        for i in range(3):
            rows = slice(2 * i, 2 * i + 2)
            (alone,) = model(inputs.map(lambda t, rows=rows: t[rows]), structures[i : i + 1])
            assert_near(alone, together.map(lambda t, rows=rows: t[rows]))


@settings(max_examples=20)
@given(cases())
def test_sets_of_structures_may_share_one_encoding(case: Case) -> None:
    model = case.model()
    inputs = model.inputs(case.before)
    sets = [case.structures(model, num) for num in (6, 1, 2)]
    with torch.no_grad():
        for found, each in zip(model(inputs, *sets), sets, strict=True):
            assert_near(found, *model(inputs, each))


@settings(max_examples=20)
@given(cases())
def test_a_compiled_structure_predicts_as_a_call_does(case: Case) -> None:
    """Also for a batch, or numbers of objects, that come after the weights were composed."""
    model = case.model()
    structure, rows = case.structure(model), case.structures(model, 1)
    predict = model.compile_for(structure)
    few = case.before.map(lambda t: t[:2])
    fewer = case.before.map(lambda t: t[:, :1])
    with torch.no_grad():
        for before in (case.before, few, fewer):
            (expected,) = model(model.inputs(before), rows)
            # What is said of rows that are no objects means nothing.
            assert_near(predict(before), expected, present=before.present)


@pytest.mark.parametrize("literal", [False, True])
@settings(max_examples=3)
@given(case=cases(batch_size=4))
def test_a_batch_that_structures_cannot_share_is_an_error(literal: bool, case: Case) -> None:
    model = case.model(literal)
    expected = (
        "^The batch is divided evenly among the structures: expected a batch size that is a "
        r"multiple of 3, got 4\.$"
    )
    with pytest.raises(ModelError, match=expected):
        model(model.inputs(case.before), case.structures(model, 3))


@settings(max_examples=10)
@given(cases())
def test_an_empty_batch_gives_empty_predictions(case: Case) -> None:
    model = case.model()
    inputs = model.inputs(case.before).map(lambda t: t[:0])
    (found,) = model(inputs, case.structures(model, 1))
    for c, prediction in found.classes.items():
        assert prediction.mean.shape[:2] == (0, case.before.counts[c])


@settings(max_examples=40)
@given(cases(), NUM_STRUCTURES)
def test_structures_that_are_still_being_learned_agree_too(case: Case, num: int) -> None:
    """Edges and paths that are there in part."""
    fast, literal = case.model(), case.model(literal=True)
    inputs, structures = fast.inputs(case.before), case.structures(fast, num)
    torch.manual_seed(case.seed)
    shares = structures * torch.rand_like(structures)
    found, expected = [], []
    for model, answers in ((fast, found), (literal, expected)):
        rows = shares.clone().requires_grad_()
        (predictions,) = model(inputs, rows)
        gradients_of(model, predictions, case.seed)
        answers += [predictions, rows.grad]
    assert_near(found[0], expected[0])
    used = shares > 0  # what no structure uses is not computed, so that it has no gradient
    torch.testing.assert_close(found[1][used], expected[1][used], rtol=1e-7, atol=1e-7)


@settings(max_examples=60)
@given(cases(), NUM_STRUCTURES)
def test_drawn_receivers_are_predicted_as_among_all(case: Case, num: int) -> None:
    model = case.model()
    inputs, structures = model.inputs(case.before), case.structures(model, num)
    some = drawn_receivers(inputs, case.seed)
    with torch.no_grad():
        (all_of_them,) = model(inputs, structures)
        (found,) = model(replace(inputs, receivers=some), structures)
    assert_near(found, at_receivers(all_of_them, some))
