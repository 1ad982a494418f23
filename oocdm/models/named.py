"""Modules and parameters under the names of a user's classes and fields, whatever they are.

PyTorch's own dictionaries refuse names that a module has already, such as `type` or `items`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar, cast

from torch import Tensor, nn


class ParametersByName(nn.Module):
    """Parameters by name.

    >>> import torch
    >>> parameters = ParametersByName({"type": nn.Parameter(torch.zeros(2))})
    >>> parameters["type"].shape
    torch.Size([2])
    """

    def __init__(self, parameters: Mapping[str, nn.Parameter]) -> None:
        super().__init__()
        for name, parameter in parameters.items():
            self.register_parameter(f"of_{name}", parameter)

    def __getitem__(self, name: str) -> Tensor:
        return self.get_parameter(f"of_{name}")


M = TypeVar("M", bound=nn.Module)


class ModulesByName(nn.Module, Generic[M]):
    """Modules of one kind by name, in order.

    >>> list(ModulesByName({"items": nn.Linear(1, 1)}))
    ['items']
    """

    def __init__(self, modules: Mapping[str, M]) -> None:
        super().__init__()
        self._names = tuple(modules)
        for name, module in modules.items():
            self.add_module(f"of_{name}", module)

    def __getitem__(self, name: str) -> M:
        return cast(M, self.get_submodule(f"of_{name}"))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)
