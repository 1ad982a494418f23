"""Scales measured on data."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.models.features import Featuriser
from oocdm.models.scales import Scales, as_numbers, measure_fields
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema
from tests.models.strategies import random_transitions


class Ball(ObjectClass):
    x = Real()
    colour = Real()
    push = Real(action=True)


SCHEMA = Schema(Ball)


def transitions() -> Transitions:
    """Two balls in two worlds; the last one is padding, one value after the step is unknown."""
    present = {"Ball": torch.tensor([[True, True], [True, False]])}
    before = Snapshot.of(
        SCHEMA,
        {
            "Ball": {
                "x": torch.tensor([[1.0, 2.0], [6.0, 0.0]]),
                "colour": torch.tensor([[5.0, 5.0], [5.0, 0.0]]),
                "push": torch.tensor([[-1.0, 0.0], [1.0, 0.0]]),
            }
        },
        present,
    )
    after = Snapshot(
        SCHEMA,
        {"Ball": {"x": torch.tensor([[2.0, 5.0], [0.0, 0.0]]), "colour": torch.full((2, 2), 5.0)}},
        present,
        {"Ball": {"x": torch.tensor([[True, True], [False, False]]), "colour": present["Ball"]}},
    )
    return Transitions(before, after)


def test_scales_are_those_of_known_values_and_changes() -> None:
    scale = measure_fields(transitions())["Ball", "x"]
    assert scale.value_mean.tolist() == [3.0]
    assert scale.value_sd.item() == pytest.approx(np.std([1, 2, 6], ddof=1))
    assert scale.change_mean.tolist() == [2.0]
    assert scale.change_sd.item() == pytest.approx(np.std([1, 3], ddof=1))


def test_what_never_varies_has_spread_one_and_never_changes() -> None:
    scale = measure_fields(transitions())["Ball", "colour"]
    assert (scale.value_mean.item(), scale.value_sd.item()) == (5.0, 1.0)
    assert (scale.change_mean.item(), scale.change_sd.item()) == (0.0, 0.0)


def test_actions_have_no_change() -> None:
    scale = measure_fields(transitions())["Ball", "push"]
    assert (scale.value_mean.item(), scale.value_sd.item()) == (0.0, 1.0)
    assert (scale.change_mean.item(), scale.change_sd.item()) == (0.0, 0.0)


def test_extremes_are_measured_over_present_objects() -> None:
    data = transitions()
    scales = Scales.measure(data)
    columns = Featuriser(SCHEMA, Scales(scales.fields, {}), enrich=True)
    rows = columns.inputs(data.before, torch.float64).extremes["Ball"][data.before.present["Ball"]]
    mean, sd = scales.extremes["Ball"]
    torch.testing.assert_close(mean, rows.mean(0).float())
    expected = rows.std(0).float()
    torch.testing.assert_close(sd, torch.where(expected > 0, expected, 1.0))


def test_a_world_without_numbers_can_be_measured() -> None:
    schema = Schema(type("Coin", (ObjectClass,), {"face": Categorical(2)}))
    data = random_transitions(schema, {"Coin": 2}, 5, np.random.default_rng(0))
    assert Scales.measure(data).extremes["Coin"].shape == (2, 0)


def test_unit_scales_change_nothing() -> None:
    scale = Scales.unit(SCHEMA).fields["Ball", "x"]
    assert (scale.value_mean.item(), scale.value_sd.item()) == (0.0, 1.0)


def test_numbers_have_one_last_axis() -> None:
    assert as_numbers(Real(), torch.zeros(4, 3), torch.float64).shape == (4, 3, 1)
    assert as_numbers(Integer(shape=(2,)), torch.zeros(4, 3, 2), torch.float64).shape == (4, 3, 2)
    assert as_numbers(Boolean(), torch.tensor([1, 0]), torch.float32).tolist() == [[1.0], [-1.0]]
