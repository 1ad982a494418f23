"""The same samples under many structures at once."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.discovery import StructureParts
from oocdm.models.fast import FastModel
from oocdm.models.reference import ReferenceModel
from tests.models.strategies import Case, assert_near, cases


@settings(max_examples=60)
@given(cases(batch_size=3), st.booleans())
def test_variants_equal_those_of_the_reference(case: Case, is_toggled: bool) -> None:
    fast, reference = case.model(FastModel), case.model(ReferenceModel)
    structures = case.structures(fast, 4)
    if is_toggled:
        start = structures[0].bool().numpy()
        rows = np.concatenate([start[None], StructureParts(case.schema).toggled(start)])
        structures = torch.as_tensor(rows).to(fast.dtype)
    inputs = fast.inputs(case.before)
    with torch.no_grad():
        assert_near(
            fast.decode_variants(inputs, structures),
            reference.decode_variants(inputs, structures),
        )


@settings(max_examples=20)
@given(cases())
def test_variants_come_one_structure_after_the_other(case: Case) -> None:
    model = case.model(ReferenceModel)
    structures, inputs = case.structures(model, 3), model.inputs(case.before)
    with torch.no_grad():
        together = model.decode_variants(inputs, structures)
        for i in range(3):
            rows = slice(6 * i, 6 * i + 6)
            alone = model.decode(inputs, structures[i : i + 1])
            assert_near(alone, together.map(lambda t, rows=rows: t[rows]))
