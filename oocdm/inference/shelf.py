"""Tensors that are kept as long as there is room for them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import final

from torch import Tensor


@final
class Shelf:
    """Keeps tensors under keys until their bytes fill its room; without one it keeps all.

    What came first stays: those who ask again ask for the same, in the same order, so that to make
    room for the next one would be to throw away what is asked for soon.

    >>> import torch
    >>> shelf = Shelf(room=10)
    >>> for name in ("first", "second"):
    ...     shelf.put(name, torch.zeros(2))
    >>> shelf.get("first"), shelf.get("second")
    (tensor([0., 0.]), None)
    """

    def __init__(self, room: int | None = None) -> None:
        self._room, self._taken = room, 0
        self._kept: dict[Hashable, Tensor] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable) -> Tensor | None:
        """What is kept under a key, if anything is."""
        return self._kept.get(key)

    def has_room(self, tensor: Tensor) -> bool:
        """Whether a tensor can be kept as well."""
        return self._room is None or self._taken + tensor.nbytes <= self._room

    def put(self, key: Hashable, tensor: Tensor) -> None:
        """Keep a tensor under a new key, if there is room."""
        if self.has_room(tensor):
            self._kept[key] = tensor
            self._taken += tensor.nbytes

    def clear(self) -> None:
        """Keep nothing any more."""
        self._kept.clear()
        self._taken = 0
