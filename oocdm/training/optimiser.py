"""Adam in the eigenbasis of the gradients, for stacks of small matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adam, Optimizer

from oocdm.errors import ModelError, suggest

BETAS = (0.9, 0.99)
COVARIANCE_DECAY = 0.97
BASIS_EVERY = 25  # steps between updates of the basis
EPSILON = 1e-10
LONGEST_SIDE = 1024  # inputs of a layer that are turned; a basis is as large as their square

Groups = list[dict[str, Any]]  # as `AbstractWorldModel.parameter_groups` gives them


class EigenAdam(Optimizer):
    """Adam whose second moments live in the eigenbasis of each layer's input-side gradients.

    Attributes of one object are often strongly correlated, and what matters is a small
    difference between them. Plain Adam scales single weights and crawls along such a
    direction; in the eigenbasis it is a coordinate of its own. (The idea of Shampoo and SOAP,
    on the input side only.) Layers with very many inputs, such as thousands of categories, of which
    one is on at a time, go without.

    A group of parameters may have a `boost`, a factor of its learning rate, and say how its
    parameters are seen as `matrices` (see `to_matrices`). Where the basis has just turned, second
    moments are those of other directions, and a weight's step can be a million times the learning
    rate, which may spoil what was learned for good: no weight of a group, seen in the basis, moves
    by more than `longest` learning rates.

    >>> slow, fast = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    >>> adam = EigenAdam([{"params": [slow]}, {"params": [fast], "boost": 3.0}], lr=0.1)
    >>> (slow + fast).sum().backward()
    >>> adam.step()
    >>> torch.cat([slow, fast]).detach()
    tensor([-0.1000, -0.1000, -0.3000, -0.3000])
    """

    def __init__(self, groups: Groups, lr: float = 1e-3) -> None:
        defaults = {"lr": lr, "boost": 1.0, "matrices": "by_target", "longest": math.inf}
        super().__init__(groups, defaults)
        for group in self.param_groups:
            _check(group)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Move the parameters by one step along their gradients."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                gradient = to_matrices(parameter.grad, group["matrices"])
                state = self.state[parameter] or self._new_state(parameter, gradient)
                update = _update(state, gradient, group["longest"])
                update = from_matrices(update, parameter, group["matrices"])
                parameter.add_(update, alpha=-group["lr"] * group["boost"])
        return loss

    def _new_state(self, parameter: Tensor, gradient: Tensor) -> dict[str, Any]:
        stack, rows, columns = gradient.shape
        state = self.state[parameter]
        state["step"] = 0
        state["mean"] = gradient.new_zeros(stack, rows, columns)
        state["square"] = gradient.new_zeros(stack, rows, columns)
        if 1 < rows <= LONGEST_SIDE:
            state["covariance"] = gradient.new_zeros(stack, rows, rows)
            eye = torch.eye(rows, dtype=gradient.dtype, device=gradient.device)
            state["basis"] = eye.repeat(stack, 1, 1)
        return state


def _update(state: dict[str, Any], gradient: Tensor, longest: float) -> Tensor:
    first, second = BETAS
    state["step"] = steps = int(state["step"]) + 1  # a tensor, if it comes from a file
    mean, square, basis = state["mean"], state["square"], state.get("basis")
    mean.lerp_(gradient, 1 - first)
    if basis is None:
        square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        return _normalised(mean, square, steps).clamp_(-longest, longest)
    rotated = basis.mT @ gradient
    square.mul_(second).addcmul_(rotated, rotated, value=1 - second)
    normalised = _normalised(basis.mT @ mean, square, steps)
    update = basis @ normalised.clamp_(-longest, longest)
    covariance = state["covariance"]
    covariance.lerp_(gradient @ gradient.mT, 1 - COVARIANCE_DECAY)
    if steps % BASIS_EVERY == 0 or steps in (2, 5, 10):
        _turn(basis, covariance)
    return update


def _normalised(mean: Tensor, square: Tensor, steps: int) -> Tensor:
    first, second = BETAS
    deviation = (square / (1 - second**steps)).sqrt_().add_(EPSILON)
    return mean / deviation / (1 - first**steps)


def _turn(basis: Tensor, covariance: Tensor) -> None:
    """One orthogonal iteration: the basis moves towards the eigenvectors, but stays near."""
    size = covariance.diagonal(dim1=-2, dim2=-1).mean(-1)[:, None, None]
    scaled = covariance / (size + 1e-30)
    basis.copy_(torch.linalg.qr(scaled @ basis + 1e-6 * basis)[0])


# How a parameter is seen as a stack of matrices, and how many axes it may have for that.
MATRICES = {"by_target": (0, math.inf), "shared_input": (2, math.inf), "maps": (4, 4)}


def _check(group: dict[str, Any]) -> None:
    where, kind = "Parameter group: `matrices`", group["matrices"]
    if kind not in MATRICES:
        raise ModelError(f"{where}: unknown kind `{kind}`. {suggest(kind, MATRICES)}")
    least, most = MATRICES[kind]
    for parameter in group["params"]:
        if not least <= parameter.ndim <= most:
            raise ModelError(
                f"{where}: {kind!r}: expected parameters of {least} axes"
                f"{'' if most == least else ' or more'}, got one of shape "
                f"{tuple(parameter.shape)}. Put it into a group of another kind."
            )


def to_matrices(parameter: Tensor, kind: str) -> Tensor:
    """A parameter, or its gradient, as a stack of matrices (stack, input, output).

    `by_target`: the last two axes are input and output, those before are stacked; fewer than
    three axes are one row. `shared_input`: the first axis is the input of all targets, which stand
    side by side. `maps`: (target, element, input, output), where maps that elements add stand side
    by side.

    >>> for kind in MATRICES:
    ...     print(kind, tuple(to_matrices(torch.zeros(2, 3, 4, 5), kind).shape))
    by_target (6, 4, 5)
    shared_input (1, 2, 60)
    maps (2, 4, 15)
    """
    if kind == "shared_input":
        return parameter.flatten(1).unsqueeze(0)
    if kind == "maps":
        return parameter.transpose(1, 2).flatten(2)
    if parameter.ndim < 3:
        return parameter.reshape(1, 1, -1)
    return parameter.flatten(0, -3)


def from_matrices(matrices: Tensor, parameter: Tensor, kind: str) -> Tensor:
    """Undo `to_matrices`.

    >>> parameter = torch.arange(16.0).view(2, 2, 2, 2)
    >>> torch.equal(from_matrices(to_matrices(parameter, "maps"), parameter, "maps"), parameter)
    True
    """
    if kind == "maps":
        targets, elements, width, outputs = parameter.shape
        return matrices.view(targets, width, elements, outputs).transpose(1, 2)
    return matrices.view_as(parameter)


OPTIMISERS: dict[str, Callable[[Groups], Optimizer]] = {"eigen-adam": EigenAdam, "adam": Adam}


def make_optimiser(name: str, groups: Groups) -> Optimizer:
    """An optimiser by its name."""
    if name not in OPTIMISERS:
        raise ModelError(f"Unknown optimiser `{name}`. {suggest(name, OPTIMISERS)}")
    return OPTIMISERS[name](groups)
