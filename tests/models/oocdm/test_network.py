"""The network that reads the features of all parts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.network import Network
from tests.models.oocdm.worlds import model_of

MODEL = model_of()
NETWORK = MODEL.predictors["Ant"].network
TARGETS, WIDTH = NETWORK.weight1.shape[:2]


def masks_of(num: int) -> Masks:
    """Of random structures; no structure lets the last target use its network."""
    flags = np.random.default_rng(0).random((num, len(MODEL.layout))) < 0.6
    flags[:, MODEL.layout.names.index("Ant.awake by network")] = False
    return Masks(MODEL.layout, MODEL.rows(flags))


@pytest.mark.parametrize("num", [1, 3])
@torch.no_grad()
def test_the_layers_one_after_the_other_are_the_literal_network(num: int) -> None:
    masks, batch, objects = masks_of(num), 6, 2
    features = torch.randn(batch, objects, TARGETS, WIDTH, dtype=torch.float64)
    elements = masks.elements("Ant").transpose(0, 1)
    block, bias = NETWORK.first(elements)
    rows = features.reshape(num, -1, TARGETS, WIDTH)
    first = torch.einsum("srtw,twh->tsrh", rows, block[:, 0]) + bias.unsqueeze(2)
    found = NETWORK.finish(first.flatten(1, 2).clone(), masks, "Ant", (batch, objects))
    per_sample = [
        masks.spread(t, batch).expand(batch, *t.shape[1:])
        for t in (masks.elements("Ant"), masks.path("Ant", "network"))
    ]
    for i in range(TARGETS):
        is_on = per_sample[1][:, i, None, None]
        expected = NETWORK.literal(i, features[:, :, i], per_sample[0][:, i], is_on)
        torch.testing.assert_close(found[:, :, i], expected)
    assert torch.equal(found[:, :, 2], NETWORK.bias3[2].expand(batch, objects, -1))


@torch.no_grad()
def test_one_target_alone_is_as_among_the_others() -> None:
    masks = Masks(MODEL.layout, MODEL.structures(MODEL.layout.structure(True)))
    hidden = torch.randn(TARGETS, 10, NETWORK.weight2.shape[1], dtype=torch.float64)
    together = NETWORK.finish(hidden.clone(), masks, "Ant", (5, 2))
    for i in range(TARGETS):
        alone = NETWORK.of_target(i)(hidden[i].clone())
        torch.testing.assert_close(alone, together[:, :, i].flatten(0, 1))


@torch.no_grad()
def test_it_is_two_hidden_layers_of_leaky_relu() -> None:
    torch.manual_seed(0)
    plain = Network(num_targets=2, width=3, hidden=4, outputs=5, num_elements=0)
    assert plain.structure_weight is None
    x = torch.randn(1, 7, 3)
    h = functional.leaky_relu(x @ plain.weight1[1] + plain.bias1[1], 0.01)
    h = functional.leaky_relu(h @ plain.weight2[1] + plain.bias2[1], 0.01)
    expected = h @ plain.weight3[1] + plain.bias3[1]
    torch.testing.assert_close(plain.literal(1, x, torch.ones(1, 9), torch.ones(1)), expected)


def test_gradients_pass_and_inputs_stay() -> None:
    masks = Masks(MODEL.layout, MODEL.structures(MODEL.layout.structure(True)))
    hidden = torch.randn(TARGETS, 10, NETWORK.weight2.shape[1]).double().requires_grad_()
    before = hidden.detach().clone()
    NETWORK.finish(hidden, masks, "Ant", (5, 2)).sum().backward()
    assert torch.equal(hidden.detach(), before)
    assert hidden.grad is not None and hidden.grad.any()
