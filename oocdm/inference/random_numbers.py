"""Random numbers of every field in every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from oocdm.inference.shelf import Shelf
from oocdm.models.mixture_field import MixtureField
from oocdm.models.prediction import CategoricalField, FieldDistribution


@dataclass(frozen=True)
class Part:
    """Some of the rows of a whole batch, from the `first` on, while only these are stepped.

    >>> Part(first=32, total=100).of(torch.arange(100), rows=2)
    tensor([32, 33])
    """

    first: int
    total: int

    def of(self, whole: Tensor, rows: int) -> Tensor:
        """So many rows of what the whole batch has."""
        return whole[self.first : self.first + rows]


@final
class RandomNumbers:
    """Draws values of fields, each field of a step from random numbers of its own.

    A part of a batch gets what it would get in the whole. What fits on a `shelf` is kept there: it
    serves a single plan, which asks for the same noise again and again.

    >>> from oocdm.models.normal_field import NormalField
    >>> from oocdm.schema import Real
    >>> numbers = RandomNumbers(num_fields=2)
    >>> prediction = NormalField(Real(), torch.zeros(1, 3), torch.ones(1, 3))
    >>> first = numbers.draw(prediction, seed=7, field=0)
    >>> torch.equal(first, numbers.draw(prediction, seed=7, field=0))
    True
    >>> torch.equal(first, numbers.draw(prediction, seed=7, field=1))
    False
    """

    def __init__(self, num_fields: int, shelf: Shelf | None = None) -> None:
        self._num_fields = num_fields
        self._shelf = Shelf(room=0) if shelf is None else shelf
        self._generator = torch.Generator()

    def draw(
        self, prediction: FieldDistribution, seed: int, field: int, part: Part | None = None
    ) -> Tensor:
        """A value of a field for each object, as the prediction says; `field` is its number."""
        stream = (seed * self._num_fields + field) % 2**63
        if isinstance(prediction, CategoricalField):
            if part is None:  # drawn as quickly as memory is read
                return prediction.sample(self._generator.manual_seed(stream))
            chance = prediction.log_probabilities[..., 0]
            return prediction.with_uniform(
                self._numbers(stream, chance, prediction.draw_uniform, part)
            )
        like = prediction.chance if isinstance(prediction, MixtureField) else prediction.mean
        return prediction.with_noise(self._numbers(stream, like, prediction.draw_noise, part))

    def _numbers(
        self,
        stream: int,
        like: Tensor,
        draw: Callable[[torch.Generator, int], Tensor],
        part: Part | None,
    ) -> Tensor:
        """The numbers of a stream, kept or drawn, for objects as one of their tensors has them."""
        rows = len(like)
        total = rows if part is None else part.total
        key = (stream, total, like.shape[1:], like.dtype)
        numbers = self._shelf.get(key)
        if numbers is None:
            numbers = draw(self._generator.manual_seed(stream), total)
            self._shelf.put(key, numbers)
        return numbers if part is None else part.of(numbers, rows)
