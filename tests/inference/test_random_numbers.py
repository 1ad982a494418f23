"""Random numbers may be kept, but never mixed up."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
import torch

from oocdm import Boolean, Integer, Real
from oocdm.inference.random_numbers import Part, RandomNumbers
from oocdm.inference.shelf import Shelf
from oocdm.models.mixture_field import MixtureField
from oocdm.models.normal_field import NormalField
from oocdm.models.prediction import CategoricalField


def standard(rows: int, dtype: torch.dtype = torch.float32) -> NormalField:
    return NormalField(Real(), torch.zeros(rows, 2, dtype=dtype), torch.ones(rows, 2, dtype=dtype))


def test_what_is_kept_is_what_would_be_drawn() -> None:
    shelf, tight = Shelf(), Shelf(room=50)
    keeping, hardly, forgetting = (RandomNumbers(3, each) for each in (shelf, tight, None))
    asked = [(seed, field, rows) for seed in (0, 1, 0) for field in range(3) for rows in (2, 5, 2)]
    for seed, field, rows in asked:
        drawn = [
            numbers.draw(standard(rows), seed, field) for numbers in (keeping, hardly, forgetting)
        ]
        assert torch.equal(drawn[0], drawn[1]) and torch.equal(drawn[0], drawn[2])
        drawn[0].fill_(7.0)  # what was handed out is not what is kept
        drawn[1].fill_(7.0)
    assert (len(shelf), len(tight)) == (12, 3)  # of two rows, 16 bytes each


@pytest.mark.parametrize("shelf", [None, Shelf()], ids=["drawn", "kept"])
def test_a_part_gets_what_it_gets_in_the_whole(shelf: Shelf | None) -> None:
    batch = torch.linspace(-1, 1, 200).view(100, 2)
    ones = torch.ones(100, 2)
    narrow, wide = (NormalField(Real(), batch, sigma * ones) for sigma in (0.1, 10.0))
    chances = torch.stack([batch.sigmoid(), 1 - batch.sigmoid()], -1).log()
    whole = [narrow, MixtureField(narrow, wide, 0.3 * ones), CategoricalField(Boolean(), chances)]
    numbers = RandomNumbers(3, shelf)
    for i, prediction in enumerate(whole):
        expected = RandomNumbers(3).draw(prediction, 7, i)
        for first, last in ((0, 32), (32, 96), (96, 100)):
            some = _rows(prediction, slice(first, last))
            drawn = numbers.draw(some, 7, i, Part(first, total=100))
            assert torch.equal(drawn, expected[first:last])


def _rows(prediction: Any, rows: slice) -> Any:
    """A prediction of some rows."""
    changed = {
        f.name: value[rows] if isinstance(value, torch.Tensor) else _rows(value, rows)
        for f in fields(prediction)
        if f.name != "field"
        for value in [getattr(prediction, f.name)]
    }
    return replace(prediction, **changed)


def test_each_field_of_each_step_has_noise_of_its_own() -> None:
    for shelf in (None, Shelf()):
        numbers = RandomNumbers(3, shelf)
        drawn = [numbers.draw(standard(4), seed, field) for seed in range(3) for field in range(3)]
        assert len({float(values[0, 0]) for values in drawn}) == 9


def test_noise_has_the_precision_of_the_prediction() -> None:
    numbers = RandomNumbers(1, Shelf())
    for dtype in (torch.float32, torch.float64):
        assert numbers.draw(standard(2, dtype), 0, 0).dtype == dtype


def test_choices_follow_from_the_seed_too() -> None:
    prediction = CategoricalField(Integer(3, 5), torch.full((50, 1, 3), 1 / 3).log())
    numbers = RandomNumbers(2, Shelf())
    first = numbers.draw(prediction, 0, 0)
    assert torch.equal(first, numbers.draw(prediction, 0, 0))
    assert not torch.equal(first, numbers.draw(prediction, 1, 0))
    assert set(first.flatten().tolist()) == {3, 4, 5}
