"""Discovery as Algorithm 1 is written."""

from __future__ import annotations

import numpy as np
import pytest

import oocdm
from oocdm.bench import literal
from oocdm.bench.literal import literal_gains
from oocdm.discovery import Rule
from oocdm.discovery.search import Search
from oocdm.graph import ClassGraph
from oocdm.models.prepared import Prepared
from tests.inference.ragged import random_model


def test_gains_are_those_of_the_fast_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literal, "CHUNK", 50)
    env = oocdm.make("block", num_blocks=2)
    data = oocdm.collect(env, steps=120, seed=0)
    model = random_model(data)
    prepared = Prepared.of(model, data, np.arange(len(data)))
    structure = model.structure(env.true_graph)
    is_tested = np.arange(len(model.edges)) % 3 == 0
    tested = model.layout.structure(is_tested, paths=False)
    theirs = literal_gains(model, prepared, structure, tested)
    ours = Search(prepared, tested, Rule()).gains(model, structure, tested)
    np.testing.assert_allclose(theirs.mean[tested.flags], ours.mean[tested.flags], atol=1e-4)
    assert np.abs(theirs.mean[tested.flags]).max() > 0.01
    full = model.structure(ClassGraph.full(data.schema))
    other = literal_gains(model, prepared, full, tested)
    assert not np.allclose(other.mean[tested.flags], theirs.mean[tested.flags])
