"""A structure and its neighbours, and what each neighbour turns.

A neighbour has one element of each target the other way round. A masked linear layer is a sum of
one contribution a field, so what a neighbour changes is one contribution more or less: what all
neighbours make of other objects comes from what the structure itself makes of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from oocdm.models.oocdm.masks import Masks, masked


@dataclass(frozen=True)
class Turned:
    """The neighbours that differ in a field of one class of sources."""

    rows: list[int]  # among the structures
    fields: Tensor  # which field each one turns
    sign: Tensor  # (neighbour, target): 1 if the field comes in, -1 if it goes

    @cached_property
    def at(self) -> slice | Tensor:
        """`rows` as an index: nearly always they stand together, which is faster."""
        first, last = self.rows[0], self.rows[-1]
        if last - first + 1 == len(self.rows):
            return slice(first, last + 1)
        return torch.as_tensor(self.rows, device=self.fields.device)


@dataclass(frozen=True)
class Contributed:
    """A linear layer over the fields of one class: the structure's, and what neighbours add."""

    weight: Tensor  # (input, out) under the structure itself
    bias: Tensor  # (out,)
    turned: Tensor | None  # (neighbour, channel, out): the turned field with its sign
    fields: Tensor | None  # (neighbour,): which one it is

    num_channels: int  # of all fields; inputs beyond are no field's

    def base(self, x: Tensor) -> Tensor:
        """Under the structure: (batch * object, out)."""
        return torch.addmm(self.bias, x.flatten(0, 1), self.weight)

    def added(self, x: Tensor) -> Tensor:
        """What each neighbour adds: (neighbour, batch, object, out)."""
        assert self.turned is not None and self.fields is not None
        rows = x.flatten(0, 1)[:, : self.num_channels]
        rows = rows.unflatten(1, (-1, self.turned.shape[1])).transpose(0, 1)
        return torch.bmm(rows[self.fields], self.turned).unflatten(1, x.shape[:2])


class Turns:
    """The structures around one, for the predictors of one class.

    `masks` holds the structure itself, then its neighbours. Parts are numbered as in
    `Layout.of_class`: own fields, fields of others, paths.
    """

    def __init__(self, c: str, masks: Masks, elements: np.ndarray) -> None:
        self.c, self.masks = c, masks
        schema = masks.schema
        num_own = len(schema.fields(c))
        self.own_rows = 1 + np.flatnonzero(elements < num_own)
        # Which of the own variants (the structure's, then one for each of `own_rows`) each has.
        self.own_variant = np.zeros(len(masks), dtype=np.int64)
        self.own_variant[self.own_rows] = 1 + np.arange(len(self.own_rows))
        self.turned: dict[str, Turned] = {}
        start = num_own
        for k in schema.classes:
            stop = start + len(schema.fields(k))
            rows = 1 + np.flatnonzero((start <= elements) & (elements < stop))
            if len(rows):
                block = masks.others(k, c)
                fields = torch.as_tensor(elements[rows - 1] - start, device=block.device)
                sign = 2 * block[torch.as_tensor(rows), fields] - 1
                self.turned[k] = Turned(rows.tolist(), fields, sign)
            start = stop

    def own_masks(self) -> Tensor:
        """Local edges of the own variants: (variant, own field, target)."""
        local = self.masks.local(self.c)
        return local[torch.as_tensor([0, *self.own_rows], device=local.device)]

    def contribute(self, k: str, weight: Tensor, bias: Tensor, num_free: int = 0) -> Contributed:
        """A linear layer (input, target, out) over the fields of a class.

        After the fields come `num_free` inputs that are none: no neighbour turns them.
        """
        num_channels = len(weight) - num_free
        base = masked(weight.unsqueeze(0), self.masks.others(k, self.c)[:1], num_free)[0]
        if k not in self.turned:
            return Contributed(base, bias.reshape(-1), None, None, num_channels)
        turned = self.turned[k]
        each = weight[:num_channels].unflatten(0, (len(self.masks.schema.fields(k)), -1))[
            turned.fields
        ]
        added = (each * turned.sign[:, None, :, None]).flatten(2)
        return Contributed(base, bias.reshape(-1), added, turned.fields, num_channels)


def repeat(x: Tensor, times: int) -> Tensor:
    """Objects side by side, the same for each of many products: (times, batch * object, width)."""
    return x.reshape(1, -1, x.shape[2]).expand(times, -1, -1)
