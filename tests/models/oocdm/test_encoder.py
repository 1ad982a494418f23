"""Attribute encoders."""

from __future__ import annotations

import pytest
import torch

from oocdm.models.oocdm.options import ModelOptions
from tests.models.oocdm.worlds import SCHEMA, ants, model_of

OPTIONS = [
    ModelOptions(enrich=enrich, flag_unknown=flag)
    for enrich in (False, True)
    for flag in (False, True)
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"{o.enrich}-{o.flag_unknown}")
@torch.no_grad()
def test_all_fields_at_once_are_each_field_alone(options: ModelOptions) -> None:
    model = model_of(options)
    encoder, features = model.encoders["Ant"], model.inputs(ants()).features["Ant"]
    found = encoder(features)
    assert found.shape == (1, 3, encoder.width) and encoder.width == 5 * encoder.channels
    assert encoder.channels == 16 + (2 if options.enrich else 0)
    for i, code in enumerate(found.split(encoder.channels, dim=2)):
        torch.testing.assert_close(code, encoder.literal(i, features))
        assert (code[..., :16] >= 0).all()
        assert torch.equal(code[..., 16:], features[:, :, i, : encoder.raw_width])


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"{o.enrich}-{o.flag_unknown}")
@torch.no_grad()
def test_known_values_of_one_field_are_encoded_as_among_the_others(options: ModelOptions) -> None:
    """Without the flag that says that a value is unknown."""
    model, before = model_of(options), ants()
    encoder, features = model.encoders["Ant"], model.inputs(before).features["Ant"]
    for i, f in enumerate(SCHEMA.fields("Ant")):
        code = encoder.of_field(f, model.featuriser)(before.values["Ant"][f])
        expected = encoder.literal(i, features)[0]
        known, width = before.observed["Ant"][f][0], code.shape[1]
        torch.testing.assert_close(code[known], expected[known, :width])
        assert not expected[known, width:].any()


def test_hidden_weights_begin_by_the_width_of_their_own_field() -> None:
    torch.manual_seed(0)
    model = model_of(ModelOptions(encoding_dim=200))
    encoder = model.encoders["Ant"]
    for i, width in enumerate(encoder.widths):
        sd = encoder.hidden_weight[i, :width].std().item()
        assert sd == pytest.approx((width + 200) ** -0.5, rel=0.15)
