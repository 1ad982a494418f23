"""The linear map beside the network."""

from __future__ import annotations

import pytest
import torch

from oocdm.models.oocdm.linear_map import LinearMap


def test_it_begins_as_nothing() -> None:
    assert not LinearMap(2, 3, 4, 5).weight.any()


@pytest.mark.parametrize("num_elements", [0, 5])
def test_its_block_of_the_first_layer_is_the_literal_map(num_elements: int) -> None:
    torch.manual_seed(0)
    linear = LinearMap(num_targets=2, width=3, outputs=4, num_elements=num_elements)
    assert linear.weight.shape == (2, 1 + num_elements, 3, 4)
    features, elements = torch.randn(6, 7, 3), torch.rand(2, 6, 5)  # a structure for each sample
    with torch.no_grad():
        linear.weight.normal_()
        block, bias = linear.first(elements)
        assert not bias.any() and bias.shape == (2, 1, 4)
        for i in range(2):
            found = features @ block[i]
            expected = linear.literal(i, features, elements[i])
            torch.testing.assert_close(found, expected)
            by_hand = (
                linear.weight[i, 0] + torch.tensordot(elements[i], linear.weight[i, 1:], 1)
                if num_elements
                else linear.weight[i, 0]
            )
            torch.testing.assert_close(features @ by_hand, expected)
