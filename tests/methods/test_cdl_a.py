"""CDL-A: attention over the parents."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from oocdm.methods import make_method
from oocdm.methods.cdl_a import HEADS, CdlAttentionModel
from oocdm.models.scales import Scales
from tests.methods.toys import COUNTS, SCHEMA, built


@pytest.mark.parametrize("num", [1, 3])
def test_attention_by_its_definition(num: int) -> None:
    """Of each head a softmax over the parents alone; an output without parents sees nothing."""
    model = built("cdl-a", torch.float64)
    assert isinstance(model, CdlAttentionModel)
    rng = np.random.default_rng(0)
    variables = torch.as_tensor(rng.normal(size=(model.num_inputs, num, model.input_width)))
    masks = torch.as_tensor(rng.random((num, model.num_inputs, model.num_outputs)) < 0.5)
    masks[:, :, 0] = False
    with torch.no_grad():
        encoded = model.encoder(variables).relu()
        pooled = model.pool(model.encode(variables), masks.double())
        keys = encoded @ model.key_weight + model.key_bias
        for b in range(num):
            for t in range(model.num_outputs):
                parents = masks[b, :, t]
                parts = []
                for k, v, q in zip(
                    keys[:, b].chunk(HEADS, -1),
                    encoded[:, b].chunk(HEADS, -1),
                    model.query[t].chunk(HEADS, -1),
                    strict=True,
                ):
                    score = (k[parents] @ q) / k.shape[-1] ** 0.5
                    parts.append(score.softmax(0) @ v[parents])
                torch.testing.assert_close(pooled[t, b], torch.cat(parts))
    assert not pooled[0].any()


def test_options_reach_the_network() -> None:
    method = make_method("cdl-a", encoding=6, keys=10)
    model = method.build(SCHEMA, Scales.unit(SCHEMA), COUNTS)
    assert isinstance(model, CdlAttentionModel)
    assert model.key_weight.shape == (6, 10) and model.query.shape == (4, 10)
