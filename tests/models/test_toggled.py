"""The same samples under a structure and its neighbours."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oocdm.models.reference import ReferenceModel

from oocdm.models.oocdm.model import OocdmModel
from tests.models.strategies import Case, assert_near, cases


@settings(max_examples=80)
@given(cases(batch_size=3), st.integers(0, 2**20))
def test_neighbours_equal_those_of_the_reference(case: Case, seed: int) -> None:
    """Whichever parts are turned, in whatever structure."""
    fast, reference = case.model(OocdmModel), case.model(ReferenceModel)
    structure = case.structures(fast, 1)[0].bool().numpy()
    rng = np.random.default_rng(seed)
    parts = {}
    for c in fast.predictors:
        num = fast.part_columns(c).shape[1]
        parts[c] = np.flatnonzero(rng.random(num) < rng.choice([0.2, 0.7, 1.0]))
    inputs = fast.inputs(case.before)
    with torch.no_grad():
        found = fast.around(structure, parts)(inputs)
        assert_near(found, reference.around(structure, parts)(inputs))


@settings(max_examples=20)
@given(cases())
def test_neighbours_turn_one_part_of_every_target(case: Case) -> None:
    model = case.model(ReferenceModel)
    structure = case.structures(model, 1)[0].bool().numpy()
    seen = np.zeros(len(structure), dtype=int)
    for c in model.predictors:
        columns = model.part_columns(c)
        rows = model.neighbours(c, structure, np.arange(columns.shape[1])).bool().numpy()
        assert np.array_equal(rows[0], structure)
        for part, row in enumerate(rows[1:]):
            assert np.flatnonzero(row != structure).tolist() == sorted(columns[:, part].tolist())
        seen[columns.ravel()] += 1
    assert (seen == 1).all()


@settings(max_examples=20)
@given(cases())
def test_neighbours_come_one_after_the_other(case: Case) -> None:
    model = case.model(ReferenceModel)
    structure, inputs = case.structures(model, 1)[0].bool().numpy(), model.inputs(case.before)
    for c in model.predictors:
        parts = {c: np.array([0, model.part_columns(c).shape[1] - 1])}
        rows = model.neighbours(c, structure, parts[c])
        with torch.no_grad():
            together = model.around(structure, parts)(inputs)
            for i in range(3):
                alone = model.decode(inputs, rows[i : i + 1])
                here = slice(6 * i, 6 * i + 6)
                torch.testing.assert_close(
                    together.classes[c].mean[here], alone.classes[c].mean, rtol=1e-9, atol=1e-9
                )
