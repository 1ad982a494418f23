"""The optimisers: Adam as torch has it, and Adam in the eigenbasis of the gradients."""

from __future__ import annotations

import copy
import re

import pytest
import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from oocdm.errors import ModelError
from oocdm.methods.dense import AbstractDenseModel
from oocdm.models.head import HeadOptions
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.scales import Scales
from oocdm.models.variable_model import Encoded, Setting
from oocdm.models.world_model import AbstractWorldModel
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.training.optimiser import MATRICES, EigenAdam, from_matrices, make_optimiser, to_matrices
from tests.inference.ragged import SCHEMA as RAGGED


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


def step(optimiser: Optimizer, rate: float, **settings: float) -> None:
    """A step as the trainer does it."""
    for group in optimiser.param_groups:
        group.update(lr=rate, **settings)
    optimiser.step()


def eigen_adam(model: nn.Module) -> EigenAdam:
    return EigenAdam([{"params": list(model.parameters())}])


def plain_adam(model: nn.Module) -> Adam:
    return Adam(model.parameters())


def test_eigen_adam_without_a_basis_is_adam() -> None:
    """A bias has nothing to rotate."""
    ours, theirs = Stack(), Stack()
    for model in (ours, theirs):
        model.weight.requires_grad_(False)
    eigen = eigen_adam(ours)
    adam = torch.optim.Adam([theirs.bias], betas=(0.9, 0.99), eps=1e-10)
    for i, rate in enumerate(rates(30)):
        x = torch.randn(5, 4, generator=torch.Generator().manual_seed(i))
        for model in (ours, theirs):
            model.zero_grad()
            model(x).square().sum().backward()
        step(eigen, rate)
        step(adam, rate)
        torch.testing.assert_close(ours.bias, theirs.bias, rtol=1e-5, atol=1e-7)
    assert [set(state) for state in eigen.state.values()] == [{"step", "mean", "square"}]


def badly_conditioned() -> tuple[Tensor, Tensor]:
    """Inputs that are nearly equal, and outputs that are their small differences."""
    generator = torch.Generator().manual_seed(0)
    common = torch.randn(4096, 1, generator=generator)
    x = common + 0.01 * torch.randn(4096, 4, generator=generator)
    weight = torch.tensor([[1.0, -1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]])
    return x, x @ weight


def train(optimiser: Optimizer, model: Stack, steps: int) -> float:
    """The mean squared error after so many small batches, relative to the outputs' spread."""
    x, y = badly_conditioned()
    generator = torch.Generator().manual_seed(1)
    for rate in rates(steps):
        rows = torch.randint(len(x), (128,), generator=generator)
        model.zero_grad()
        ((model(x[rows]) - y[rows]).square().mean() / y.var()).backward()
        step(optimiser, rate)
    with torch.no_grad():
        return float((model(x) - y).square().mean() / y.var())


def test_eigen_adam_masters_bad_conditioning() -> None:
    left = {}
    for make in (eigen_adam, plain_adam):
        model = Stack()
        with torch.no_grad():
            model.weight.zero_()
        left[make] = train(make(model), model, steps=1500)
    assert left[plain_adam] > 0.3  # most of it is still there
    assert left[eigen_adam] < 1e-3


def test_the_basis_stays_orthonormal() -> None:
    model = Stack()
    eigen = eigen_adam(model)
    train(eigen, model, steps=100)
    basis = eigen.state[model.weight]["basis"]
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
        eigen = eigen_adam(model)
        basis = torch.eye(4)
        moves = []
        generator.manual_seed(0)
        for _ in range(60):
            model.zero_grad()
            is_seen = torch.rand(8, 4, generator=generator) < 0.1
            x = torch.randn(8, 4, generator=generator) * is_seen
            (model(x).pow(3)).sum().backward()
            before = model.weight.detach().clone()
            step(eigen, 1e-3, longest=bound)
            moves.append((basis.mT @ (model.weight.detach() - before)).abs().max().item() / 1e-3)
            basis = eigen.state[model.weight]["basis"].clone()  # of the next step
        longest[bound] = max(moves)
    assert longest[torch.inf] > 2
    assert longest[1.0] == pytest.approx(1.0, rel=1e-3)


def test_a_gradient_of_zero_moves_nothing() -> None:
    for make in (eigen_adam, plain_adam):
        model = Stack()
        before = model.weight.detach().clone()
        optimiser = make(model)
        for _ in range(3):
            model.zero_grad()
            (0.0 * model(torch.ones(2, 4))).sum().backward()
            step(optimiser, 0.1)
        assert torch.equal(model.weight, before)


def test_a_parameter_without_gradient_is_left_alone() -> None:
    for make in (eigen_adam, plain_adam):
        model = Stack()
        before = model.weight.detach().clone()
        model.bias.sum().backward()
        step(make(model), 0.1)
        assert torch.equal(model.weight, before) and model.bias.any()


@pytest.mark.parametrize(("name", "kind"), [("eigen-adam", EigenAdam), ("adam", Adam)])
def test_optimisers_by_name(name: str, kind: type) -> None:
    assert type(make_optimiser(name, [{"params": [torch.ones(1)], "boost": 3.0}])) is kind


def test_unknown_optimiser() -> None:
    message = "Unknown optimiser `adm`. Did you mean `adam`? Known: eigen-adam, adam."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        make_optimiser("adm", [])


# ---------------------------------------------------------------- groups


def test_a_boost_is_a_factor_of_the_step() -> None:
    """Also of a later step, and whatever the other groups have."""
    plain, boosted, slowed = (torch.zeros(2, 4, 3, requires_grad=True) for _ in range(3))
    groups = [{"params": [plain]}, {"params": [boosted], "boost": 3.0}]
    eigen = EigenAdam([*groups, {"params": [slowed], "boost": 0.5}], lr=0.1)
    generator = torch.Generator().manual_seed(0)
    for _ in range(12):
        gradient = torch.randn(2, 4, 3, generator=generator)
        for parameter in (plain, boosted, slowed):
            parameter.grad = gradient.clone()
        eigen.step()
        torch.testing.assert_close(boosted, 3 * plain)
        torch.testing.assert_close(slowed, plain / 2)
    assert plain.abs().max() > 0.1


def test_matrices_and_back() -> None:
    parameter = torch.randn(2, 3, 4, 5)
    for kind in MATRICES:
        assert torch.equal(from_matrices(to_matrices(parameter, kind), parameter, kind), parameter)
    assert torch.equal(to_matrices(parameter, "maps")[1, :, 5:10], parameter[1, 1])
    assert torch.equal(to_matrices(parameter, "by_target")[4], parameter[1, 1])
    assert to_matrices(parameter[0, 0], "by_target").shape == (1, 1, 20)
    assert to_matrices(parameter[0, 0], "shared_input").shape == (1, 4, 5)
    assert to_matrices(torch.ones(()), "by_target").shape == (1, 1, 1)


@pytest.mark.parametrize(
    ("kind", "shape", "message"),
    [
        ("map", (1, 1, 1, 1), "unknown kind `map`. Did you mean `maps`?"),
        ("maps", (2, 3, 4), "'maps': expected parameters of 4 axes, got one of shape (2, 3, 4)."),
        ("maps", (1,) * 5, "'maps': expected parameters of 4 axes, got one of shape (1, 1, 1, 1"),
        ("shared_input", (3,), "'shared_input': expected parameters of 2 axes or more, got one"),
    ],
)
def test_matrices_that_do_not_fit(kind: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(
        ModelError, match=f"^{re.escape(f'Parameter group: `matrices`: {message}')}"
    ):
        EigenAdam([{"params": [torch.zeros(shape)], "matrices": kind}])


# ---------------------------------------------------------------- groups of models


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


class OwnModel(AbstractDenseModel):
    """A user's network whose parameter has the name of one of ours."""

    def __init__(self) -> None:
        super().__init__(
            Setting(Schema(Ball), {"Ball": 2}, Scales.unit(Schema(Ball)), HeadOptions())
        )
        self.linear_weight = nn.Parameter(torch.zeros(2, 3, 4, 5))
        self.local_weight = nn.Parameter(torch.zeros(2, 4, 5))

    def encode(self, variables: Tensor) -> Encoded:
        return (variables,)

    def predict_all(self, encoded: Encoded) -> Tensor:
        return encoded[0]


class OwnOocdm(OocdmModel):
    """The same in a subclass of ours."""

    def __init__(self) -> None:
        super().__init__(Schema(Ball), ModelOptions(), None)
        self.linear_weight = nn.Parameter(torch.zeros(2, 3, 4, 5))


def first_moves(model: AbstractWorldModel) -> dict[str, float]:
    """How many learning rates each parameter moves by a first step."""
    before = copy.deepcopy(model)
    eigen = EigenAdam(model.parameter_groups(), lr=0.01)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    eigen.step()
    moves = zip(before.named_parameters(), model.parameters(), strict=True)
    return {name: round((a - b).abs().max().item() / 0.01, 3) for (name, a), b in moves}


def test_the_linear_maps_and_products_of_ours_move_three_times_as_far() -> None:
    moves = first_moves(OocdmModel(Schema(Ball), ModelOptions(product_rank=4), None))
    boosted = {name for name, move in moves.items() if move == 3}
    assert boosted == {
        f"predictors.of_Ball.{name}"
        for name in ("linear_map.weight", "products.weight", "products.second")
    }
    assert {move for name, move in moves.items() if name not in boosted} == {1}


LINEAR_MAP = r"predictors\.of_\w+\.linear_map\.weight"
PRODUCTS = r"predictors\.of_\w+\.products\.(weight|second)"
SHARED_INPUT = (
    r"predictors\.of_\w+\.parts\.of_"
    r"(local\.weight|(messages|pairs)\.own_weight|pairs\.between_weight\.of_\w+"
    r"|(messages|pairs|attention)\.weight\.of_\w+)"
)


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        # Of linear maps, of products, and of shared inputs: two classes have targets. Each reads
        # itself, by messages itself and three classes, by pairs the same and how it compares with
        # its own objects.
        (ModelOptions(pairs=True, product_rank=4), [2, 4, 2 * (1 + 4 + 5)]),
        (ModelOptions(pairs=False, product_rank=0), [2, 0, 2 * (1 + 4)]),
        (ModelOptions.preset("paper"), [0, 0, 2 * (1 + 3)]),
    ],
    ids=["all", "plain", "paper"],
)
def test_groups_of_ours(options: ModelOptions, counts: list[int]) -> None:
    """Maps are the parts' own sums, and first layers are read by all targets of a class."""
    model = OocdmModel(RAGGED, options)
    said = {
        id(parameter): {k: v for k, v in group.items() if k != "params"}
        for group in model.parameter_groups()
        for parameter in group["params"]
    }
    expected = {LINEAR_MAP: {"matrices": "maps", "boost": 3.0}}
    expected[SHARED_INPUT] = {"matrices": "shared_input"}
    expected[PRODUCTS] = {"boost": 3.0}
    seen: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        kind = next((kind for kind in expected if re.fullmatch(kind, name)), "other")
        seen[kind] = seen.get(kind, 0) + 1
        assert said.pop(id(parameter)) == expected.get(kind, {}), name
    assert not said  # and each parameter is in one group
    found = [seen.get(kind, 0) for kind in (LINEAR_MAP, PRODUCTS, SHARED_INPUT)]
    assert found == counts


def test_layers_that_read_shared_inputs_have_an_axis_for_targets() -> None:
    model = OocdmModel(RAGGED, ModelOptions())
    (shared,) = (g for g in model.parameter_groups() if g.get("matrices") == "shared_input")
    names = {id(p): name for name, p in model.named_parameters()}
    for parameter in shared["params"]:
        c = names[id(parameter)].split(".")[1].removeprefix("of_")
        inputs, targets, _ = parameter.shape
        assert targets == len(RAGGED.targets(c)) and inputs > 1


def test_a_parameter_of_a_user_moves_as_far_as_any_other() -> None:
    """Whatever its name."""
    assert first_moves(OwnModel()) == {"linear_weight": 1, "local_weight": 1}
    assert first_moves(OwnOocdm())["linear_weight"] == 1


# ---------------------------------------------------------------- as an optimiser of torch


@pytest.mark.parametrize("make", [eigen_adam, plain_adam])
def test_a_saved_state_goes_on_to_the_bit(make: type[Optimizer]) -> None:
    straight = Stack()
    optimiser = make(straight)
    train(optimiser, straight, steps=37)
    other = copy.deepcopy(straight)
    again = make(other)
    again.load_state_dict(copy.deepcopy(optimiser.state_dict()))
    for model, each in ((straight, optimiser), (other, again)):
        train(each, model, steps=60)
    assert torch.equal(straight.weight, other.weight)
    assert torch.equal(straight.bias, other.bias)


def test_a_scheduler_of_torch_sets_the_rate() -> None:
    parameter = torch.zeros(1, requires_grad=True)
    eigen = EigenAdam([{"params": [parameter], "boost": 3.0}], lr=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(eigen, step_size=1, gamma=0.1)
    moves = []
    for _ in range(3):
        before = parameter.item()
        parameter.grad = torch.ones(1)
        eigen.step()
        scheduler.step()
        moves.append(before - parameter.item())
    assert moves == pytest.approx([1.5, 0.15, 0.015])


def test_a_closure_is_called_with_gradients() -> None:
    parameter = torch.ones(1, requires_grad=True)
    eigen = EigenAdam([{"params": [parameter]}], lr=0.25)

    def closure() -> float:
        eigen.zero_grad()
        loss = parameter.square().sum()
        loss.backward()
        return float(loss.detach())

    assert eigen.step(closure) == 1.0
    assert parameter.item() == pytest.approx(0.75)
