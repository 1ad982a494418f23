"""Modules and parameters under names of a user's choice."""

from __future__ import annotations

import torch
from torch import nn

from oocdm.models.named import ModulesByName, ParametersByName

NAMES = ("type", "items", "half", "train", "children", "x", "of_x")


def test_any_name_will_do_and_state_is_found() -> None:
    parameters = ParametersByName(
        {name: nn.Parameter(torch.full((1,), float(i))) for i, name in enumerate(NAMES)}
    )
    modules = ModulesByName({name: nn.Linear(i + 1, 1) for i, name in enumerate(NAMES)})
    assert tuple(modules) == NAMES
    for i, name in enumerate(NAMES):
        assert parameters[name].item() == i
        assert modules[name].in_features == i + 1
    assert list(parameters.state_dict()) == [f"of_{name}" for name in NAMES]
    assert len(list(modules.parameters())) == 2 * len(NAMES)


def test_what_is_moved_is_what_is_read() -> None:
    parameters = ParametersByName({"half": nn.Parameter(torch.ones(1))}).double()
    assert parameters["half"].dtype == torch.float64
