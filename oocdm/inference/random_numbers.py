"""Random numbers of every field in every step."""

from __future__ import annotations

from collections import OrderedDict
from typing import final

import torch
from torch import Tensor

from oocdm.models.prediction import FieldDistribution, NormalField


@final
class RandomNumbers:
    """Draws values of fields, each field of a step from random numbers of its own.

    A planner tries many sequences of actions with the same random numbers: the noise of the
    latest `kept` draws is remembered.

    >>> from oocdm.schema import Real
    >>> numbers = RandomNumbers(num_fields=2, kept=10)
    >>> prediction = NormalField(Real(), torch.zeros(1, 3), torch.ones(1, 3))
    >>> first = numbers.draw(prediction, seed=7, field=0)
    >>> torch.equal(first, numbers.draw(prediction, seed=7, field=0))
    True
    >>> torch.equal(first, numbers.draw(prediction, seed=7, field=1))
    False
    """

    def __init__(self, num_fields: int, kept: int = 0) -> None:
        self._num_fields, self._capacity = num_fields, kept
        self._generator = torch.Generator()
        self._kept: OrderedDict[int, Tensor] = OrderedDict()

    def draw(self, prediction: FieldDistribution, seed: int, field: int) -> Tensor:
        """A value of a field for each object, as the prediction says; `field` is its number."""
        stream = (seed * self._num_fields + field) % 2**63
        if not isinstance(prediction, NormalField):
            return prediction.sample(self._generator.manual_seed(stream))
        return prediction.with_noise(self._noise(stream, prediction.mean))

    def _noise(self, stream: int, like: Tensor) -> Tensor:
        noise = self._kept.get(stream)
        if noise is None or noise.shape != like.shape or noise.dtype != like.dtype:
            # Drawn on the processor, so that they are the same on every device.
            self._generator.manual_seed(stream)
            noise = torch.randn(like.shape, generator=self._generator, dtype=like.dtype)
            noise = noise.to(like.device)
            self._kept[stream] = noise
            if len(self._kept) > self._capacity:
                self._kept.popitem(last=False)
        return noise
