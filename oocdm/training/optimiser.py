"""Adam, and Adam in the eigenbasis of the gradients, for stacks of small matrices."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from oocdm.errors import ModelError, suggest
from oocdm.models.matrices import from_matrices, to_matrices

BETAS = (0.9, 0.99)
COVARIANCE_DECAY = 0.97
BASIS_EVERY = 25  # steps between updates of the basis
EPSILON = 1e-10
LINEAR_BOOST = 3.0  # the linear maps must travel far, and are the best-behaved part


class EigenAdam:
    """Adam whose second moments live in the eigenbasis of each layer's input-side gradients.

    Attributes of one object are often strongly correlated, and what matters is a small
    difference between them. Plain Adam scales single weights and crawls along such a
    direction; in the eigenbasis it is a coordinate of its own. (The idea of Shampoo and SOAP,
    on the input side only.) The state is a flat dictionary of tensors, so it can be saved.
    """

    def __init__(self, model: nn.Module) -> None:
        self.parameters = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
        self.steps = 0
        self.state: dict[str, Tensor] = {}
        for name, parameter in self.parameters:
            stack, rows, columns = to_matrices(name, parameter).shape
            self.state[f"{name}/mean"] = parameter.new_zeros(stack, rows, columns)
            self.state[f"{name}/square"] = parameter.new_zeros(stack, rows, columns)
            if rows > 1:
                self.state[f"{name}/covariance"] = parameter.new_zeros(stack, rows, rows)
                eye = torch.eye(rows, dtype=parameter.dtype, device=parameter.device)
                self.state[f"{name}/basis"] = eye.repeat(stack, 1, 1)

    @torch.no_grad()
    def step(self, learning_rate: float, longest: float = math.inf) -> None:
        """Move the parameters by one step along their gradients.

        Where the basis has just turned, second moments are those of other directions, and a
        weight's step can be a million times the learning rate. Random weights do not mind;
        trained ones do: no weight, seen in the basis, moves by more than `longest` learning rates.
        """
        self.steps += 1
        for name, parameter in self.parameters:
            if parameter.grad is None:
                continue
            update = self._update(name, to_matrices(name, parameter.grad), longest)
            boost = LINEAR_BOOST if name.endswith("linear_weight") else 1.0
            parameter.add_(from_matrices(update, parameter), alpha=-learning_rate * boost)

    def _update(self, name: str, gradient: Tensor, longest: float) -> Tensor:
        first, second = BETAS
        mean, square = self.state[f"{name}/mean"], self.state[f"{name}/square"]
        mean.lerp_(gradient, 1 - first)
        basis = self.state.get(f"{name}/basis")
        if basis is None:
            square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
            return self._normalised(mean, square).clamp_(-longest, longest)
        rotated = basis.mT @ gradient
        square.mul_(second).addcmul_(rotated, rotated, value=1 - second)
        normalised = self._normalised(basis.mT @ mean, square)
        update = basis @ normalised.clamp_(-longest, longest)
        covariance = self.state[f"{name}/covariance"]
        covariance.lerp_(gradient @ gradient.mT, 1 - COVARIANCE_DECAY)
        if self.steps % BASIS_EVERY == 0 or self.steps in (2, 5, 10):
            self._turn(basis, covariance)
        return update

    def _normalised(self, mean: Tensor, square: Tensor) -> Tensor:
        first, second = BETAS
        deviation = (square / (1 - second**self.steps)).sqrt_().add_(EPSILON)
        return mean / deviation / (1 - first**self.steps)

    @staticmethod
    def _turn(basis: Tensor, covariance: Tensor) -> None:
        """One orthogonal iteration: the basis moves towards the eigenvectors, but stays near."""
        size = covariance.diagonal(dim1=-2, dim2=-1).mean(-1)[:, None, None]
        scaled = covariance / (size + 1e-30)
        basis.copy_(torch.linalg.qr(scaled @ basis + 1e-6 * basis)[0])


class PlainAdam:
    """Adam, with its state as a flat dictionary of tensors."""

    def __init__(self, model: nn.Module) -> None:
        self.names = [n for n, p in model.named_parameters() if p.requires_grad]
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.adam = torch.optim.Adam(self.parameters)
        self.steps = 0
        self.state: dict[str, Tensor] = {}
        for name, parameter in zip(self.names, self.parameters, strict=True):
            state = self.adam.state[parameter]
            state["step"] = torch.zeros(())
            state["exp_avg"] = self.state[f"{name}/mean"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = self.state[f"{name}/square"] = torch.zeros_like(parameter)

    def step(self, learning_rate: float, longest: float = math.inf) -> None:
        """Move the parameters by one step along their gradients; steps are never long."""
        for parameter in self.parameters:
            self.adam.state[parameter]["step"].fill_(self.steps)
        self.adam.param_groups[0]["lr"] = learning_rate
        self.adam.step()
        self.steps += 1


Optimiser = EigenAdam | PlainAdam
OPTIMISERS: dict[str, type[EigenAdam] | type[PlainAdam]] = {
    "eigen-adam": EigenAdam,
    "adam": PlainAdam,
}


def make_optimiser(name: str, model: nn.Module) -> Optimiser:
    """An optimiser by its name."""
    if name not in OPTIMISERS:
        raise ModelError(f"Unknown optimiser `{name}`. {suggest(name, OPTIMISERS)}")
    return OPTIMISERS[name](model)
