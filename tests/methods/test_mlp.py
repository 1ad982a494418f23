"""MLP: one perceptron from all variables to all."""

from __future__ import annotations

import torch

from oocdm.methods import make_method
from oocdm.models.scales import Scales
from tests.methods.toys import COUNTS, FULL, SCHEMA, built, outputs, predict, states


def test_a_chosen_width_is_that_of_its_layers() -> None:
    def size(width: int) -> int:
        model = make_method("mlp", width=width).build(SCHEMA, Scales.unit(SCHEMA), COUNTS)
        return sum(p.numel() for p in model.parameters())

    assert size(8) < size(16) < size(64)
    widths = {
        n
        for p in make_method("mlp", width=37)
        .build(SCHEMA, Scales.unit(SCHEMA), COUNTS)
        .parameters()
        for n in p.shape
    }
    assert 37 in widths


def test_all_outputs_read_one_network() -> None:
    """A gradient of one output reaches the weights that the others use."""
    model, before = built("mlp", torch.float64), states(4)
    touched = []
    for output in range(len(FULL.outputs)):
        model.zero_grad()
        outputs(predict(model, before, FULL))[:, output].sum().backward()
        touched.append(
            {n for n, p in model.named_parameters() if p.grad is not None and p.grad.any()}
        )
    assert set.intersection(*touched)
