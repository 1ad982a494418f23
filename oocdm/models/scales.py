"""Location and spread of every field in the training data, and of its change in one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn
from torch.nn import functional

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
    """Mean and standard deviation of a field's value and of its change, one a component.

    >>> Scale.unit(2).value_sd
    tensor([1., 1.])
    """

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
    """Scales of all fields, as they were measured; a model keeps them in its `ClassScales`."""

    fields: Mapping[tuple[str, str], Scale]

    @staticmethod
    def unit(schema: Schema) -> Scales:
        """Scales that change nothing."""
        return Scales(
            {
                (c, f): Scale.unit(field.size)
                for c in schema.classes
                for f, field in schema.fields(c).items()
            }
        )

    @staticmethod
    def measure(data: Transitions) -> Scales:
        """Scales of every field, from the known values of counted objects.

        A component that never varies gets the spread 0 as a change. As a value a number in units
        gets its own size, if that is 0 that of its changes; others, and what is always 0, get 1: so
        nothing depends on the unit.
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
                unit = _unit_of(field, value_mean, torch.hypot(change_mean, change_sd))
                value_sd = torch.where(value_sd > 0, value_sd, unit)
                scales[c, f] = Scale(value_mean, value_sd, change_mean, change_sd)
        return Scales(scales)


class ClassScales(nn.Module):
    """The scales of one class's fields, saved with the weights: (field, component) each.

    There is no other copy: what features are made with and what predictions are made of read
    them here.
    """

    value_mean: Tensor
    value_sd: Tensor
    change_mean: Tensor
    change_sd: Tensor

    def __init__(self, schema: Schema, c: str, scales: Scales) -> None:
        super().__init__()
        rows = [scales.fields[c, f] for f in schema.fields(c)]
        self.sizes = [field.size for field in schema.fields(c).values()]
        self._at = {f: i for i, f in enumerate(schema.fields(c))}
        width = max(self.sizes)
        for column in fields(Scale):
            fill = 1.0 if column.name.endswith("sd") else 0.0
            padded = [
                functional.pad(getattr(row, column.name), (0, width - size), value=fill)
                for row, size in zip(rows, self.sizes, strict=True)
            ]
            self.register_buffer(column.name, torch.stack(padded))

    def of(self, f: str) -> Scale:
        """The scale of one field."""
        i = self._at[f]
        size = self.sizes[i]
        return Scale(*(getattr(self, column.name)[i, :size] for column in fields(Scale)))

    def of_value(self, f: str) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of a field's value alone."""
        i = self._at[f]
        return self.value_mean[i, : self.sizes[i]], self.value_sd[i, : self.sizes[i]]

    @property
    def is_unit(self) -> bool:
        """Whether they change nothing, and so tell nothing of the data."""
        return not self.value_mean.any() and bool((self.value_sd == 1).all())


def _unit_of(field: Field, constant: Tensor, change: Tensor) -> Tensor:
    """What to measure a component in that never varies, and usually changes by so much."""
    if not field.is_real:
        return torch.ones_like(constant)
    size = torch.where(constant != 0, constant.abs(), change)
    return torch.where(size > 0, size, 1.0)


def moments(rows: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each column; zeros where there are too few rows."""
    if len(rows) < 2 or size == 0:
        return torch.zeros(size), torch.zeros(size)
    return rows.mean(0).float(), rows.std(0).float()
