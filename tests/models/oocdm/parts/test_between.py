"""Differences, squares and equalities of fields that two classes have in common."""

from __future__ import annotations

import math

import pytest
import torch

from oocdm.models.oocdm.parts.between import Between
from tests.models.oocdm.worlds import ants, model_of, view_of


def test_columns_are_those_of_common_fields() -> None:
    model = model_of()
    ours = Between(model.featuriser, "Ant", "Ant")
    # A difference and its size for each component of a number, then what is equal.
    assert ours.column_fields == [
        *["x"] * 2,
        *["cell"] * 4,
        *["awake"] * 2,
        *["push"] * 2,
        *["cell", "awake", "colour"],
    ]
    assert Between(model.featuriser, "Hill", "Ant").column_fields == ["x", "x"]


def test_columns_are_zero_where_an_end_is_unknown() -> None:
    model = model_of()
    between, before = Between(model.featuriser, "Hill", "Ant"), ants()
    found = between.observe(before, torch.tensor([0.5]), torch.float64)
    # The first ant is at 2, the hill at 5; the second's x is unknown, the third is no ant.
    assert found.tolist() == [[[[6.0, pytest.approx(math.log(37))]], [[0.0, 0.0]], [[0.0, 0.0]]]]


def test_units_are_usual_differences_of_others() -> None:
    model = model_of()
    before = ants()
    assert Between(model.featuriser, "Hill", "Ant").measure(before).tolist() == [3.0]
    unit = Between(model.featuriser, "Ant", "Ant").measure(before)
    # No two ants have a known x, both stand in one cell: the spread of the fields is left.
    assert unit.tolist() == [1.0, 1.0, 1.0, 2.0, 1.5]


def test_views_show_the_same() -> None:
    model = model_of()
    before = ants()
    known = {f: before.present["Ant"] for f in before.observed["Ant"]}
    before = type(before)(
        *(before.schema, before.values, before.present, {**before.observed, "Ant": known})
    )
    between = Between(model.featuriser, "Ant", "Ant")
    unit = torch.tensor([2.0, 1.0, 3.0, 1.0, 0.5], dtype=torch.float64)
    expected = between.observe(before, unit, torch.float64)
    found = between.of_view(view_of(model, before), tuple(model.schema.fields("Ant")), unit)
    both = before.present["Ant"][:, :, None] & before.present["Ant"][:, None]
    torch.testing.assert_close(found[both], expected[both])
