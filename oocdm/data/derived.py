"""What is made of tensors that come again and again: made once."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar, final

from torch import Tensor

Made = TypeVar("Made")


@final
class Derived(Generic[Made]):
    """A function of tensors that remembers its answers.

    An answer is kept as long as the very tensor lives and is not changed in place, so what is
    made must not hold on to the tensor itself. Nothing is kept for tensors of inference mode and
    of NumPy arrays, which do not tell whether they were changed. Nor does a tensor that is changed
    through `.numpy()` or `.data`: this is for tensors that nobody else has.

    >>> import torch
    >>> total = Derived(lambda tensor: float(tensor.sum()))
    >>> ones = torch.ones(3)
    >>> total(ones), total(ones)  # the second answer is remembered
    (3.0, 3.0)
    >>> total(ones.add_(1))
    6.0
    """

    def __init__(self, make: Callable[[Tensor], Made]) -> None:
        self._make = make
        # By the tensor's identity: comparing tensors would compare their elements.
        self._kept: dict[int, tuple[weakref.ref[Tensor], int, Made]] = {}

    def __call__(self, tensor: Tensor) -> Made:
        """What is made of a tensor."""
        version = version_of(tensor)
        if version is None:
            return self._make(tensor)
        key = id(tensor)
        kept = self._kept.get(key)
        # Another tensor may have got the identity of one that is gone.
        if kept is not None and kept[0]() is tensor and kept[1] == version:
            return kept[2]
        made = self._make(tensor)
        self._kept[key] = (weakref.ref(tensor, lambda gone: self._forget(key, gone)), version, made)
        return made

    def _forget(self, key: int, gone: weakref.ref[Tensor]) -> None:
        kept = self._kept.get(key)
        if kept is not None and kept[0] is gone:
            del self._kept[key]


def version_of(tensor: Tensor) -> int | None:
    """How often a tensor was changed in place; None if it does not tell.

    >>> import torch
    >>> ones = torch.ones(3)
    >>> version_of(ones) == version_of(ones), version_of(ones) == version_of(ones.add_(1))
    (True, False)
    """
    is_silent = tensor.is_inference() or not tensor.untyped_storage().resizable()
    return None if is_silent else tensor._version


def absent_rows(present: Tensor) -> Tensor | None:
    """Which rows are no objects, as `present` says which ones are; None if all are.

    >>> import torch
    >>> absent_rows(torch.tensor([[True, False]]))
    tensor([[False,  True]])
    """
    return None if bool(present.all()) else ~present
