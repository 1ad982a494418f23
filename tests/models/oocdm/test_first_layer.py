"""Linear layers side by side and in a row."""

from __future__ import annotations

import torch

from oocdm.models.oocdm.first_layer import FirstLayer

TARGETS, FEATURES = 3, 6


def layer(structures: int) -> FirstLayer:
    """A network's block that is the same for all, and a linear map of each structure."""
    torch.manual_seed(0)
    shapes = {"network": (1, FEATURES, 4), "map": (structures, FEATURES, 2)}
    blocks = {name: torch.randn(TARGETS, *shape) for name, shape in shapes.items()}
    biases = {"network": torch.randn(TARGETS, structures, 4), "map": torch.zeros(TARGETS, 1, 2)}
    return FirstLayer(blocks, biases)


def test_blocks_stand_side_by_side() -> None:
    for num in (1, 5):
        made = layer(num)
        assert made.widths == {"network": 4, "map": 2}
        weight, bias = made.weight(), made.bias()
        assert weight.shape == (TARGETS, num, FEATURES, 6) and bias.shape == (TARGETS, num, 6)
        for s in range(num):
            assert torch.equal(weight[:, s, :, :4], made.blocks["network"][:, 0])
            assert torch.equal(weight[:, s, :, 4:], made.blocks["map"][:, s])
            assert torch.equal(bias[:, s, :4], made.biases["network"][:, s])
        assert not bias[..., 4:].any()


def test_some_features_and_one_target_are_parts_of_it() -> None:
    made = layer(2)
    weight = made.weight()
    assert torch.equal(made.of_features(2, 3).weight(), weight[:, :, 2:5])
    assert torch.equal(made.of_features(2, 3).bias(), made.bias())
    assert torch.equal(made.of_target(1).weight(), weight[1:2])
    assert torch.equal(made.of_target(1).bias(), made.bias()[1:2])


def test_two_linear_layers_in_a_row_are_one() -> None:
    for num in (1, 5):
        made = layer(num)
        weight, bias = torch.randn(TARGETS, 7, FEATURES), torch.randn(TARGETS, FEATURES)
        both, x = made.after(weight, bias), torch.randn(11, 7)
        for t in range(TARGETS):
            for s in range(num):
                expected = (x @ weight[t] + bias[t]) @ made.weight()[t, s] + made.bias()[t, s]
                found = x @ both.weight()[t, s] + both.bias()[t, s]
                torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
