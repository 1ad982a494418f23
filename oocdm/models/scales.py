"""Location and spread of every field in the training data, and of its change in one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from oocdm.data.snapshot import Transitions
from oocdm.schema import Boolean, Field, Schema


def as_numbers(field: Field, values: Tensor, dtype: torch.dtype) -> Tensor:
    """A field's values as real numbers with one last axis: (..., size); booleans are -1 and +1.

    >>> as_numbers(Boolean(), torch.tensor([0, 1]), torch.float32).tolist()
    [[-1.0], [1.0]]
    """
    numbers = values.to(dtype)
    if field.shape == ():
        numbers = numbers.unsqueeze(-1)
    return 2 * numbers - 1 if isinstance(field, Boolean) else numbers


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of a field's value and of its change, one a component."""

    value_mean: Tensor
    value_sd: Tensor
    change_mean: Tensor
    change_sd: Tensor

    @staticmethod
    def unit(size: int) -> Scale:
        """No scaling at all."""
        zero, one = torch.zeros(size), torch.ones(size)
        return Scale(zero, one, zero, one)


@dataclass(frozen=True)
class Scales:
    """Scales of all fields, and of the extremes over other objects (see `Featuriser`).

    `extremes[class]` is (2, column): mean and standard deviation; empty before it is measured.
    """

    fields: Mapping[tuple[str, str], Scale]
    extremes: Mapping[str, Tensor]

    @property
    def is_unit(self) -> bool:
        """Whether they change nothing, and so tell nothing of the data."""
        return all(
            not scale.value_mean.any() and bool((scale.value_sd == 1).all())
            for scale in self.fields.values()
        )

    @staticmethod
    def unit(schema: Schema) -> Scales:
        """Scales that change nothing."""
        fields = {
            (c, f): Scale.unit(field.size)
            for c in schema.classes
            for f, field in schema.fields(c).items()
        }
        return Scales(fields, {})


def measure_fields(data: Transitions) -> dict[tuple[str, str], Scale]:
    """Scales of every field, from the known values of counted objects.

    A component that never varies gets the spread 1 as a value and 0 as a change.
    """
    scales: dict[tuple[str, str], Scale] = {}
    for c in data.schema.classes:
        for f, field in data.schema.fields(c).items():
            before = as_numbers(field, data.before.values[c][f], torch.float64)
            is_known = data.before.present[c] & data.before.observed[c][f]
            value_mean, value_sd = moments(before[is_known], field.size)
            change_mean, change_sd = torch.zeros(field.size), torch.zeros(field.size)
            if field.is_target:
                after = as_numbers(field, data.after.values[c][f], torch.float64)
                both = data.known(c, f) & data.before.observed[c][f]
                change_mean, change_sd = moments((after - before)[both], field.size)
            value_sd = torch.where(value_sd > 0, value_sd, torch.ones(()))
            scales[c, f] = Scale(value_mean, value_sd, change_mean, change_sd)
    return scales


def moments(rows: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each column; zeros where there are too few rows."""
    if len(rows) < 2 or size == 0:
        return torch.zeros(size), torch.zeros(size)
    return rows.mean(0).float(), rows.std(0).float()
