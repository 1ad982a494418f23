"""Random numbers may be kept, but never mixed up."""

from __future__ import annotations

import torch

from oocdm import Integer, Real
from oocdm.inference.random_numbers import RandomNumbers
from oocdm.models.normal_field import NormalField
from oocdm.models.prediction import CategoricalField


def standard(rows: int, dtype: torch.dtype = torch.float32) -> NormalField:
    return NormalField(Real(), torch.zeros(rows, 2, dtype=dtype), torch.ones(rows, 2, dtype=dtype))


def test_what_is_kept_is_what_would_be_drawn() -> None:
    keeping, forgetting = RandomNumbers(3, keeps=True), RandomNumbers(3)
    asked = [(seed, field, rows) for seed in (0, 1, 0) for field in range(3) for rows in (2, 5, 2)]
    for seed, field, rows in asked:
        drawn = [numbers.draw(standard(rows), seed, field) for numbers in (keeping, forgetting)]
        assert torch.equal(*drawn)
        drawn[0].fill_(7.0)  # what was handed out is not what is kept
    assert len(keeping._kept) == 12
    assert len(forgetting._kept) == 0


def test_each_field_of_each_step_has_noise_of_its_own() -> None:
    for keeps in (False, True):
        numbers = RandomNumbers(3, keeps)
        drawn = [numbers.draw(standard(4), seed, field) for seed in range(3) for field in range(3)]
        assert len({float(values[0, 0]) for values in drawn}) == 9


def test_noise_has_the_precision_of_the_prediction() -> None:
    numbers = RandomNumbers(1, keeps=True)
    for dtype in (torch.float32, torch.float64):
        assert numbers.draw(standard(2, dtype), 0, 0).dtype == dtype


def test_choices_follow_from_the_seed_too() -> None:
    prediction = CategoricalField(Integer(3, 5), torch.full((50, 1, 3), 1 / 3).log())
    numbers = RandomNumbers(2, keeps=True)
    first = numbers.draw(prediction, 0, 0)
    assert torch.equal(first, numbers.draw(prediction, 0, 0))
    assert not torch.equal(first, numbers.draw(prediction, 1, 0))
    assert set(first.flatten().tolist()) == {3, 4, 5}
