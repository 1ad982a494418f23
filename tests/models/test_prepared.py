"""A dataset as a model reads it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oocdm
from oocdm.models import prepared as prepared_module
from oocdm.models.features import at_places
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prepared import (
    Budget,
    Deferred,
    Kept,
    Prepared,
    Receivers,
    known_counts,
    mean_scores,
)
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
    chunks = list(all_of_it.chunks(25))
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
    assert mean_scores(scores, known_counts(targets)).tolist() == expected


def test_what_does_not_fit_is_made_when_it_is_asked_for() -> None:
    model, data, kept = made()
    tight = Prepared.of(model, data, budget=Budget(kept=1000))
    assert isinstance(kept.source, Kept) and isinstance(tight.source, Deferred)
    rows = torch.tensor([7, 3, 11])
    some, picked = tight.rows(slice(1, 50)).rows(rows), kept.rows(slice(1, 50)).rows(rows)
    made_now = Kept(some.inputs, some.targets)
    for a, b in zip(made_now.tensors, Kept(picked.inputs, picked.targets).tensors, strict=True):
        assert torch.equal(a, b)
    assert torch.equal(some.cluster, picked.cluster)


def test_it_makes_no_difference_how_many_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, data, at_once = made()
    monkeypatch.setattr(prepared_module, "MADE_AT_ONCE", 25)
    again = Prepared.of(model, data)
    assert isinstance(again.source, Kept) and isinstance(at_once.source, Kept)
    for a, b in zip(again.source.tensors, at_once.source.tensors, strict=True):
        assert torch.equal(a, b)


def test_drawn_objects_stand_for_all() -> None:
    """On average over draws, weighted sums are those of all objects."""
    model, data, _ = made()
    some = Prepared.of(model, data, np.arange(4), Budget(targets=2))
    some.targets.known["Block"][0, 0] = False
    some.targets.known["Block"][1, 1:] = False
    score = torch.arange(1.0, 21.0).view(4, 5, 1) * some.targets.known["Block"]
    rng, total = np.random.default_rng(0), torch.zeros(())
    for _ in range(2000):
        drawn = Receivers.draw(model, some, rng)
        assert set(drawn.places) == {"Block"}
        here = {"Block": at_places(score, drawn.places["Block"])}
        total = total + drawn.weigh(here)["Block"].sum((1, 2))
    torch.testing.assert_close(total / 2000, score.sum((1, 2)), rtol=0.03, atol=0.0)


def test_small_classes_are_not_drawn() -> None:
    model, _, prepared = made()
    drawn = Receivers.draw(model, prepared, np.random.default_rng(0))
    assert not drawn.places and not Receivers.draw(model.literal(), prepared, None).places  # type: ignore[arg-type]


def test_chunks_are_smaller_where_work_on_them_is_large() -> None:
    model, data, _ = made()
    prepared = Prepared.of(model, data, budget=Budget(largest=4 * 8 * 10 * 1000))
    sizes = [
        len(c) for c in prepared.chunks(25, lambda some: torch.zeros(len(some), 1000).double())
    ]
    assert max(sizes) < 10 and sum(sizes) == 60
