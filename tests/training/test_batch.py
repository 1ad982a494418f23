"""A batch in parts has the gradient of the whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oocdm
from oocdm.methods import make_method
from oocdm.methods.method import Term
from oocdm.training.batch import Batch, num_shares, parts_of
from oocdm.training.trainer import Trainer

DATA = oocdm.collect(oocdm.make("block", num_blocks=3), steps=120, seed=0)


def gradient(batch: Batch, at_once: int) -> tuple[float, torch.Tensor]:
    batch.model.zero_grad(set_to_none=True)
    loss = batch.backward(at_once)
    found = [p.grad.flatten() for p in batch.model.parameters() if p.grad is not None]
    return float(loss), torch.cat(found)


@pytest.mark.parametrize("size, shares, at_once", [(12, 3, 9), (12, 3, 3), (12, 1, 5), (6, 6, 4)])
def test_parts_are_all_rows_in_order(size: int, shares: int, at_once: int) -> None:
    parts = list(parts_of(size, shares, at_once))
    assert [i for part in parts for i in range(size)[part.rows]] == list(range(size))
    share = size // shares
    for part in parts:
        rows = range(size)[part.rows]
        assert len(rows) <= max(at_once, 1)
        assert {i // share for i in rows} == set(range(shares)[part.shares])


@pytest.mark.parametrize("at_once", [1, 5, 8, 16])
@pytest.mark.parametrize("method", ["oocdm", "cdl", "ticsa"])
@pytest.mark.parametrize("targets", [2, 64])
def test_parts_have_the_gradient_of_the_whole(method: str, at_once: int, targets: int) -> None:
    chosen = make_method(method, schedule=oocdm.Schedule(targets_per_class=targets, batch_size=24))
    trainer = Trainer(DATA, chosen, seed=0)
    trainer.model.double()
    trainer.model.idle = frozenset()  # structures of these batches use all parts
    layout, rng = trainer.model.layout, np.random.default_rng(0)
    learned = torch.rand(6, len(layout), dtype=torch.float64, requires_grad=True)
    terms = [
        Term(0.5, rng.random((4, len(layout))) < 0.7),
        Term(1.0, np.ones((1, len(layout)), dtype=bool)),
        Term(2.0, learned.sigmoid()),
    ]
    assert num_shares(terms) == 12
    trainer.material.training = type(trainer.training).of(
        trainer.model, trainer.training_data, budget=trainer.training.budget
    )
    batch = trainer.material.batch(np.arange(24), terms, None, rng)
    assert bool(batch.receivers.places) == (targets == 2 and method == "oocdm")
    whole = gradient(batch, 24)
    expected, learned.grad = learned.grad, None
    terms[2] = Term(2.0, learned.sigmoid())
    parts = gradient(batch, at_once)
    assert parts[0] == pytest.approx(whole[0])
    torch.testing.assert_close(parts[1], whole[1])
    assert expected is not None
    torch.testing.assert_close(learned.grad, expected)
