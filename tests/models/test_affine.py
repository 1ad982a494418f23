"""Linear layers, single and stacked."""

from __future__ import annotations

import torch

from oocdm.models.affine import affine


def test_a_stack_is_each_layer_by_itself() -> None:
    torch.manual_seed(0)
    bias, x, weight = torch.randn(3, 1, 5), torch.randn(3, 7, 2), torch.randn(3, 2, 5)
    together = affine(bias, x, weight)
    for i in range(3):
        torch.testing.assert_close(together[i], affine(bias[i, 0], x[i], weight[i]))
        torch.testing.assert_close(together[i], x[i] @ weight[i] + bias[i])
