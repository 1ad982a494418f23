"""The optimisers: Adam as torch has it, and Adam in the eigenbasis of the gradients."""

from __future__ import annotations

import re

import pytest
import torch
from torch import Tensor, nn

from oocdm.errors import ModelError
from oocdm.training.optimiser import EigenAdam, PlainAdam, make_optimiser


class Stack(nn.Module):
    """Two linear maps side by side, and a bias: (stack, input, output)."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.weight = nn.Parameter(torch.randn(2, width, 3))
        self.bias = nn.Parameter(torch.zeros(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias.unsqueeze(1)


def rates(num: int) -> list[float]:
    """A learning rate that changes."""
    return [1e-2 * (1 - i / num) for i in range(num)]


def test_plain_adam_is_torch_s_adam_bit_for_bit() -> None:
    ours, theirs = Stack(), Stack()
    plain, adam = PlainAdam(ours), torch.optim.Adam(theirs.parameters())
    for i, rate in enumerate(rates(30)):
        x = torch.randn(5, 4, generator=torch.Generator().manual_seed(i))
        for model in (ours, theirs):
            model.zero_grad()
            model(x).square().sum().backward()
        plain.step(rate)
        adam.param_groups[0]["lr"] = rate
        adam.step()
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert torch.equal(a, b)
    assert plain.steps == 30


def test_eigen_adam_without_a_basis_is_adam() -> None:
    """A bias has nothing to rotate."""
    ours, theirs = Stack(), Stack()
    for model in (ours, theirs):
        model.weight.requires_grad_(False)
    eigen = EigenAdam(ours)
    assert set(eigen.state) == {"bias/mean", "bias/square"}
    adam = torch.optim.Adam([theirs.bias], betas=(0.9, 0.99), eps=1e-10)
    for i, rate in enumerate(rates(30)):
        x = torch.randn(5, 4, generator=torch.Generator().manual_seed(i))
        for model in (ours, theirs):
            model.zero_grad()
            model(x).square().sum().backward()
        eigen.step(rate)
        adam.param_groups[0]["lr"] = rate
        adam.step()
        torch.testing.assert_close(ours.bias, theirs.bias, rtol=1e-5, atol=1e-7)


def badly_conditioned() -> tuple[Tensor, Tensor]:
    """Inputs that are nearly equal, and outputs that are their small differences."""
    generator = torch.Generator().manual_seed(0)
    common = torch.randn(4096, 1, generator=generator)
    x = common + 0.01 * torch.randn(4096, 4, generator=generator)
    weight = torch.tensor([[1.0, -1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]])
    return x, x @ weight


def train(optimiser: EigenAdam | PlainAdam, model: Stack, steps: int) -> float:
    """The mean squared error after so many small batches, relative to the outputs' spread."""
    x, y = badly_conditioned()
    generator = torch.Generator().manual_seed(1)
    for rate in rates(steps):
        rows = torch.randint(len(x), (128,), generator=generator)
        model.zero_grad()
        ((model(x[rows]) - y[rows]).square().mean() / y.var()).backward()
        optimiser.step(rate)
    with torch.no_grad():
        return float((model(x) - y).square().mean() / y.var())


def test_eigen_adam_masters_bad_conditioning() -> None:
    left = {}
    for kind in (EigenAdam, PlainAdam):
        model = Stack()
        with torch.no_grad():
            model.weight.zero_()
        left[kind] = train(kind(model), model, steps=1500)
    assert left[PlainAdam] > 0.3  # most of it is still there
    assert left[EigenAdam] < 1e-3


def test_the_basis_stays_orthonormal() -> None:
    model = Stack()
    eigen = EigenAdam(model)
    train(eigen, model, steps=100)
    basis = eigen.state["weight/basis"]
    assert basis.shape == (2, 4, 4)
    torch.testing.assert_close(basis.mT @ basis, torch.eye(4).expand(2, 4, 4), atol=1e-5, rtol=0)
    # It has turned towards the eigenvectors: the first is what the inputs have in common.
    assert (basis[:, :, 0].abs() - 0.5).abs().max() < 0.02


def test_steps_are_no_longer_than_allowed() -> None:
    """Rare inputs, and a basis that has just turned, make steps that destroy trained weights."""
    generator = torch.Generator().manual_seed(0)
    longest = {}
    for bound in (torch.inf, 1.0):
        model = Stack()
        eigen = EigenAdam(model)
        moves = []
        generator.manual_seed(0)
        for _ in range(60):
            model.zero_grad()
            is_seen = torch.rand(8, 4, generator=generator) < 0.1
            x = torch.randn(8, 4, generator=generator) * is_seen
            (model(x).pow(3)).sum().backward()
            before, basis = model.weight.detach().clone(), eigen.state["weight/basis"].clone()
            eigen.step(1e-3, bound)
            moves.append((basis.mT @ (model.weight.detach() - before)).abs().max().item() / 1e-3)
        longest[bound] = max(moves)
    assert longest[torch.inf] > 2
    assert longest[1.0] == pytest.approx(1.0, rel=1e-3)


def test_a_gradient_of_zero_moves_nothing() -> None:
    for kind in (EigenAdam, PlainAdam):
        model = Stack()
        before = model.weight.detach().clone()
        optimiser = kind(model)
        for _ in range(3):
            model.zero_grad()
            (0.0 * model(torch.ones(2, 4))).sum().backward()
            optimiser.step(0.1)
        assert torch.equal(model.weight, before)


def test_a_parameter_without_gradient_is_left_alone() -> None:
    for kind in (EigenAdam, PlainAdam):
        model = Stack()
        before = model.weight.detach().clone()
        model.bias.sum().backward()
        optimiser = kind(model)
        optimiser.step(0.1)
        assert torch.equal(model.weight, before) and model.bias.any()


@pytest.mark.parametrize(("name", "kind"), [("eigen-adam", EigenAdam), ("adam", PlainAdam)])
def test_optimisers_by_name(name: str, kind: type) -> None:
    assert isinstance(make_optimiser(name, Stack()), kind)


def test_unknown_optimiser() -> None:
    message = "Unknown optimiser `adm`. Did you mean `adam`? Known: eigen-adam, adam."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        make_optimiser("adm", Stack())
