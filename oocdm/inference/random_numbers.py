"""Random numbers of every field in every step."""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor

from oocdm.models.mixture_field import MixtureField
from oocdm.models.normal_field import NormalField
from oocdm.models.prediction import FieldDistribution


@final
class RandomNumbers:
    """Draws values of fields, each field of a step from random numbers of its own.

    One that `keeps` its noise serves a single plan, which asks for the same noise again and again.

    >>> from oocdm.schema import Real
    >>> numbers = RandomNumbers(num_fields=2)
    >>> prediction = NormalField(Real(), torch.zeros(1, 3), torch.ones(1, 3))
    >>> first = numbers.draw(prediction, seed=7, field=0)
    >>> torch.equal(first, numbers.draw(prediction, seed=7, field=0))
    True
    >>> torch.equal(first, numbers.draw(prediction, seed=7, field=1))
    False
    """

    def __init__(self, num_fields: int, keeps: bool = False) -> None:
        self._num_fields, self._keeps = num_fields, keeps
        self._generator = torch.Generator()
        self._kept: dict[tuple[int, torch.Size, torch.dtype], Tensor] = {}

    def draw(self, prediction: FieldDistribution, seed: int, field: int) -> Tensor:
        """A value of a field for each object, as the prediction says; `field` is its number."""
        stream = (seed * self._num_fields + field) % 2**63
        if self._keeps and isinstance(prediction, NormalField | MixtureField):
            return prediction.with_noise(self._noise(stream, prediction))
        return prediction.sample(self._generator.manual_seed(stream))

    def _noise(self, stream: int, prediction: NormalField | MixtureField) -> Tensor:
        key = (stream, prediction.mean.shape, prediction.mean.dtype)
        if key not in self._kept:
            self._kept[key] = prediction.draw_noise(self._generator.manual_seed(stream))
        return self._kept[key]
