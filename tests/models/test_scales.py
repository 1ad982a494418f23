"""Scales measured on data."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.models.scales import ClassScales, Scale, Scales, as_numbers, moments
from oocdm.schema import Boolean, Integer, ObjectClass, Real, Schema


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
    scale = Scales.measure(transitions()).fields["Ball", "x"]
    assert scale.value_mean.tolist() == [3.0]
    assert scale.value_sd.item() == pytest.approx(np.std([1, 2, 6], ddof=1))
    assert scale.change_mean.tolist() == [2.0]
    assert scale.change_sd.item() == pytest.approx(np.std([1, 3], ddof=1))


def test_what_never_varies_has_its_own_size_and_never_changes() -> None:
    scale = Scales.measure(transitions()).fields["Ball", "colour"]
    assert (scale.value_mean.item(), scale.value_sd.item()) == (5.0, 5.0)
    assert (scale.change_mean.item(), scale.change_sd.item()) == (0.0, 0.0)


def test_actions_have_no_change() -> None:
    scale = Scales.measure(transitions()).fields["Ball", "push"]
    assert (scale.value_mean.item(), scale.value_sd.item()) == (0.0, 1.0)
    assert (scale.change_mean.item(), scale.change_sd.item()) == (0.0, 0.0)


def test_unit_scales_change_nothing() -> None:
    scale = Scales.unit(SCHEMA).fields["Ball", "x"]
    assert (scale.value_mean.item(), scale.value_sd.item()) == (0.0, 1.0)


def test_numbers_have_one_last_axis() -> None:
    assert as_numbers(Real(), torch.zeros(4, 3), torch.float64).shape == (4, 3, 1)
    assert as_numbers(Integer(shape=(2,)), torch.zeros(4, 3, 2), torch.float64).shape == (4, 3, 2)
    assert as_numbers(Boolean(), torch.tensor([1, 0]), torch.float32).tolist() == [[1.0], [-1.0]]


def test_moments_of_too_few_rows_are_zero() -> None:
    for rows in (torch.ones(0, 2), torch.ones(1, 2)):
        mean, sd = moments(rows, 2)
        assert mean.tolist() == sd.tolist() == [0, 0]


def test_a_class_keeps_its_scales_side_by_side() -> None:
    """Padding changes nothing, and what is loaded is what is read."""
    schema = Schema(type("Ant", (ObjectClass,), {"x": Real(), "cell": Integer(0, 2, shape=(2,))}))
    one, two = torch.tensor([3.0]), torch.tensor([4.0, 5.0])
    scales = Scales({("Ant", "x"): Scale(*[one] * 4), ("Ant", "cell"): Scale(*[two] * 4)})
    kept = ClassScales(schema, "Ant", scales)
    assert kept.value_mean.tolist() == kept.change_mean.tolist() == [[3, 0], [4, 5]]
    assert kept.value_sd.tolist() == kept.change_sd.tolist() == [[3, 1], [4, 5]]
    assert kept.of("x").change_sd.tolist() == [3]
    assert not kept.is_unit
    fresh = ClassScales(schema, "Ant", Scales.unit(schema))
    assert fresh.is_unit
    fresh.load_state_dict(kept.state_dict())
    assert fresh.of("cell").value_mean.tolist() == [4, 5] and not fresh.is_unit
