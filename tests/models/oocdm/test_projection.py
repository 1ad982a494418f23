"""Linear maps of encodings, by tables and without."""

from __future__ import annotations

import itertools

import pytest
import torch

from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.projection import Projection
from tests.models.oocdm.worlds import SCHEMA, model_of, reading_of, view_of
from tests.models.strategies import Case

FIELDS = tuple(SCHEMA.fields("Ant"))
SUBSETS = [s for n in range(6) for s in itertools.combinations(FIELDS, n)]


@pytest.mark.parametrize("enrich", [False, True])
@pytest.mark.parametrize("flag_unknown", [False, True])
@pytest.mark.parametrize("most", [4096, 10, 1])
@torch.no_grad()
def test_any_fields_are_mapped_as_their_encodings_are(
    enrich: bool, flag_unknown: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one table, in several, or in none."""
    monkeypatch.setattr("oocdm.models.oocdm.view.MOST_CODES", most)
    monkeypatch.setattr("oocdm.models.oocdm.projection.MOST_CODES", most)
    model = model_of(ModelOptions(enrich=enrich, flag_unknown=flag_unknown))
    reading, encoder = reading_of(model), model.encoders["Ant"]
    before = Case.of(SCHEMA, {"Ant": 3, "Hill": 0}, seed=0).known
    view = view_of(model, before)
    weight = torch.randn(encoder.width, 7, dtype=torch.float64)
    bias = torch.randn(7, dtype=torch.float64)
    encoded = encoder(model.inputs(before).features["Ant"]).flatten(0, 1)
    for fields in SUBSETS:
        chosen = torch.tensor([[float(f in fields)] for f in FIELDS]).double()
        mask = chosen.repeat_interleave(encoder.channels, 0)
        project = Projection(encoder, reading.of_fields, fields, weight, bias)
        torch.testing.assert_close(project(view), encoded @ (weight * mask) + bias)
        tabled = [f for names, _ in project.tables for f in names]
        assert sorted(tabled + [f for f, _ in project.encoded]) == sorted(fields)
        assert all(len(table) <= most for _, table in project.tables)
        # It may be changed in place.
        again = project(view)
        project(view).zero_()
        assert torch.equal(project(view), again)
