"""CDL: its maximum over parents, and what it may be asked."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from oocdm.methods import make_method
from oocdm.methods.cdl import masked_max


@pytest.mark.parametrize("num_missing", [0, 1, 4])
def test_masked_maximum_by_its_definition(num_missing: int) -> None:
    rng = np.random.default_rng(num_missing)
    encoded = torch.as_tensor(rng.normal(size=(4, 3, 5))).relu()
    masks = np.ones((3, 4, 2), dtype=bool)
    for b in range(3):
        for t in range(2):
            masks[b, rng.permutation(4)[:num_missing], t] = False
    pooled = masked_max(encoded, torch.as_tensor(masks))
    for b in range(3):
        one = masked_max(encoded[:, b : b + 1], torch.as_tensor(masks[b : b + 1]))
        for t in range(2):
            seen = encoded[:, b][torch.as_tensor(masks[b, :, t])]
            expected = seen.amax(0) if len(seen) else torch.zeros(5, dtype=encoded.dtype)
            assert torch.equal(pooled[t, b], expected)
            assert torch.equal(one[t, 0], expected)


@pytest.mark.parametrize("num_missing", [0, 1, 2])
def test_gradients_of_the_masked_maximum(num_missing: int) -> None:
    rng = np.random.default_rng(num_missing)
    masks = torch.ones(3, 4, 2, dtype=torch.bool)
    for b, t in np.ndindex(3, 2):
        masks[b, rng.permutation(4)[:num_missing], t] = False
    numbers = torch.as_tensor(rng.normal(size=(4, 3, 5))).requires_grad_()
    weight = torch.as_tensor(rng.normal(size=(2, 3, 5)))
    hidden = ~masks.permute(2, 1, 0).unsqueeze(-1)  # (output, input, batch, 1)
    plain = numbers.relu().masked_fill(hidden, -torch.inf).amax(1)
    found = masked_max(numbers.relu(), masks)
    gradients = [torch.autograd.grad((out * weight).sum(), numbers)[0] for out in (plain, found)]
    torch.testing.assert_close(*gradients)


def test_the_paper_s_discovery_scores_all_transitions() -> None:
    assert make_method("cdl", "paper").to_json()["max_scored"] is None
