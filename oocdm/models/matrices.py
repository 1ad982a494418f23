"""The parameters of a network as matrices, which is how the optimiser sees them."""

from __future__ import annotations

from torch import Tensor

# Layers that read the same inputs for all targets of a class.
SHARED_INPUT_LAYERS = ("local_weight", "message_own", "message_weight", "global_weight")


def to_matrices(name: str, parameter: Tensor) -> Tensor:
    """A parameter, or its gradient, as a stack of matrices (stack, input, output).

    Most layers are stacked by target. The first layers of a class's predictors read the same
    inputs, so they are one matrix with the targets side by side; so are the linear maps that
    the parts of a structure add. This is what the optimiser sees.
    """
    if parameter.ndim < 3:
        return parameter.reshape(1, 1, -1)
    if any(part in SHARED_INPUT_LAYERS for part in name.split(".")):
        return parameter.reshape(1, parameter.shape[0], -1)
    if parameter.ndim == 4:
        return parameter.transpose(1, 2).flatten(2)
    return parameter


def from_matrices(matrices: Tensor, parameter: Tensor) -> Tensor:
    """Undo `to_matrices`."""
    if parameter.ndim == 4:
        targets, parts, width, outputs = parameter.shape
        return matrices.view(targets, width, parts, outputs).transpose(1, 2)
    return matrices.view_as(parameter)
