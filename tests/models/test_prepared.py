"""A dataset as a model reads it."""

from __future__ import annotations

import numpy as np
import torch

import oocdm
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prepared import Prepared, mean_scores
from oocdm.models.scales import Scales


def made() -> tuple[OocdmModel, oocdm.Dataset, Prepared]:
    data = oocdm.collect(oocdm.make("block"), steps=60, seed=0)
    model = OocdmModel(data.schema, ModelOptions(), Scales.measure(data.transitions())).double()
    return model, data, Prepared.of(model, data)


def test_prepared_rows_are_those_of_the_dataset() -> None:
    model, data, all_of_it = made()
    assert len(all_of_it) == len(data)
    rows = np.array([7, 3, 11])
    some, picked = Prepared.of(model, data, rows), all_of_it.rows(torch.as_tensor(rows))
    assert len(some) == 3
    assert torch.equal(some.cluster, torch.as_tensor(data.clusters[rows]))
    for a, b in ((some.inputs, picked.inputs), (some.targets, picked.targets)):
        for c, values in a.values.items():
            assert torch.equal(values, b.values[c]) and values.dtype == torch.float64
            assert torch.equal(a.known[c], b.known[c])
    assert torch.equal(some.cluster, picked.cluster)


def test_chunks_are_everything_in_order() -> None:
    _, _, all_of_it = made()
    chunks = all_of_it.chunks(25)
    assert [len(chunk) for chunk in chunks] == [25, 25, 10]
    c = next(iter(all_of_it.targets.values))
    together = torch.cat([chunk.targets.values[c] for chunk in chunks])
    assert torch.equal(together, all_of_it.targets.values[c])


def test_mean_scores_are_over_known_values() -> None:
    _, _, prepared = made()
    targets = prepared.targets.map(lambda t: t)
    scores = {}
    for c, known in targets.known.items():
        known[:, 0] = False
        scores[c] = torch.where(known, 3.0, 0.0)
    last = list(targets.known)[-1]
    targets.known[last][:] = False
    scores[last][:] = 0.0
    expected = [
        0.0 if c == last or k.shape[1] == 1 else 3.0
        for c, k in targets.known.items()
        for _ in range(k.shape[2])
    ]
    assert mean_scores(scores, targets).tolist() == expected
