"""The fast model against the reference."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oocdm.models.reference import ReferenceModel

from oocdm.errors import ModelError
from oocdm.models.oocdm.model import OocdmModel, Structures
from tests.models.strategies import Case, assert_near, cases, parameters_of

NUM_STRUCTURES = st.sampled_from([1, 2, 3, 6])


@settings(max_examples=120)
@given(cases(), NUM_STRUCTURES)
def test_fast_equals_reference(case: Case, num: int) -> None:
    fast, reference = case.model(OocdmModel), case.model(ReferenceModel)
    inputs, structures = fast.inputs(case.before), case.structures(fast, num)
    with torch.no_grad():
        assert_near(fast.decode(inputs, structures), reference.decode(inputs, structures))


@settings(max_examples=40)
@given(cases(), NUM_STRUCTURES)
def test_gradients_equal_those_of_the_reference(case: Case, num: int) -> None:
    fast = gradients(case.model(OocdmModel), case, num)
    reference = gradients(case.model(ReferenceModel), case, num)
    for name, gradient in reference.items():
        assert gradient.isfinite().all(), name
        torch.testing.assert_close(fast[name], gradient, rtol=1e-7, atol=1e-7, msg=name)


def gradients(model: OocdmModel, case: Case, num: int) -> dict[str, torch.Tensor]:
    """Of a random mixture of all parameters of all distributions."""
    torch.manual_seed(case.seed)
    predictions = model.decode(model.inputs(case.before), case.structures(model, num))
    loss = torch.zeros((), dtype=model.dtype)
    for _, _, tensors in parameters_of(predictions):
        for tensor in tensors:
            loss = loss + (tensor * torch.randn_like(tensor)).sum()
    loss.backward()
    # No gradient at all is as good as zero.
    return {
        name: torch.zeros_like(p) if p.grad is None else p.grad
        for name, p in model.named_parameters()
    }


@settings(max_examples=30)
@given(cases())
def test_structures_share_the_batch_evenly_and_in_order(case: Case) -> None:
    model = case.model(OocdmModel)
    structures: Structures = case.structures(model, 3)
    inputs = model.inputs(case.before)
    with torch.no_grad():
        together = model.decode(inputs, structures)
        for i in range(3):
            rows = slice(2 * i, 2 * i + 2)
            alone = model.decode(inputs.map(lambda t, rows=rows: t[rows]), structures[i : i + 1])
            assert_near(alone, together.map(lambda t, rows=rows: t[rows]))


@settings(max_examples=20)
@given(cases())
def test_sets_of_structures_may_share_one_encoding(case: Case) -> None:
    model = case.model(OocdmModel)
    inputs = model.inputs(case.before)
    sets = [case.structures(model, num) for num in (6, 1, 2)]
    with torch.no_grad():
        for found, each in zip(model.decode_each(inputs, sets), sets, strict=True):
            assert_near(found, model.decode(inputs, each))


@settings(max_examples=20)
@given(cases())
def test_fixed_structures_predict_as_decode_does(case: Case) -> None:
    """Also for a batch, or numbers of objects, that come after the weights were composed."""
    model = case.model(OocdmModel)
    inputs, structures = model.inputs(case.before), case.structures(model, 1)
    predict = model.under(structures)
    with torch.no_grad():
        assert_near(predict(inputs), model.decode(inputs, structures))
        few = inputs.map(lambda t: t[:2])
        assert_near(predict(few), model.decode(few, structures))


@pytest.mark.parametrize("kind", [OocdmModel, ReferenceModel])
@settings(max_examples=3)
@given(case=cases(batch_size=4))
def test_a_batch_that_structures_cannot_share_is_an_error(kind: type, case: Case) -> None:
    model = case.model(kind)
    with pytest.raises(ModelError, match="expected a batch size that is a multiple of 3, got 4"):
        model.decode(model.inputs(case.before), case.structures(model, 3))
