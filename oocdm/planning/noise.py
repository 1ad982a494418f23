"""Random numbers of a plan: each world draws its own, so that no world sees another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import torch
from torch import Tensor

from oocdm.errors import PlanError
from oocdm.planning.actions import ActionVariables
from oocdm.reading import read

Generators = torch.Generator | Sequence[torch.Generator]


def generators_of(generator: Generators, batch_size: int) -> list[torch.Generator]:
    """One generator a world: those given, or new ones that the given one seeds.

    >>> made = generators_of(torch.Generator().manual_seed(0), 3)
    >>> len({g.initial_seed() for g in made})
    3
    """
    if isinstance(generator, torch.Generator):
        seeds = [
            int(torch.randint(2**63 - 1, (), generator=generator, device=generator.device))
            for _ in range(batch_size)
        ]
        return [torch.Generator(generator.device).manual_seed(seed) for seed in seeds]
    of_each = Sequence[Annotated[torch.Generator, "Make one: torch.Generator()."]]
    given: list[torch.Generator] = read(of_each, generator, "plan: `generator`", PlanError)
    if len(given) != batch_size:
        raise PlanError(
            f"plan: expected {batch_size} generators, one a world, got {len(given)}. Give as "
            "many as the state has rows, or a single one that seeds them all."
        )
    return given


def draw_seed(generators: Sequence[torch.Generator]) -> int:
    """One seed for what worlds share, from the states of their generators, which stay as they are.

    >>> draw_seed([torch.Generator().manual_seed(0)]) < 2**62
    True
    """
    copies = [g.clone_state() for g in generators]
    drawn = [int(torch.randint(2**62, (), generator=g, device=g.device)) for g in copies]
    return sum(drawn) % 2**62


def draw_noise(
    variables: ActionVariables,
    samples: int,
    horizon: int,
    generators: Sequence[torch.Generator],
    colour: Tensor | None = None,
) -> Tensor:
    """Standard normals (sample, horizon, variable), of each world from its own generator.

    A world's numbers depend on how many variables it has and on nothing else. `colour` is a
    matrix (horizon, horizon) that correlates the steps of each variable.

    >>> from oocdm.data.snapshot import Snapshot
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(action=True)
    >>> state = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(2, 3)}})
    >>> variables = ActionVariables.of(state)
    >>> draw_noise(variables, 5, 4, [torch.Generator(), torch.Generator()]).shape
    torch.Size([5, 4, 6])
    """
    counts = torch.bincount(variables.world, minlength=variables.batch_size).tolist()
    drawn = []
    for count, generator in zip(counts, generators, strict=True):
        shape = (samples, horizon, count)
        white = torch.randn(shape, generator=generator, device=generator.device)
        drawn.append(white if colour is None else colour.to(white.device) @ white)
    # The columns are world by world here, field by field in the variables.
    order = variables.world.argsort(stable=True).argsort()
    return torch.cat(drawn, -1).to(order.device)[..., order]


def colour_matrix(horizon: int, beta: float) -> Tensor:
    """The matrix (horizon, horizon) that gives white noise a power spectrum of frequency^-beta.

    The variance of each step stays 1. As is usual, the mean over the horizon has the power of
    the lowest frequency.

    >>> colour_matrix(3, beta=0.0).round(decimals=3).abs()
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]])
    """
    frequency = torch.fft.fftfreq(horizon, dtype=torch.float64).abs().clamp(min=1 / horizon)
    scale = frequency ** (-beta / 2)
    scale = scale / scale.square().mean().sqrt()
    spectrum = torch.fft.fft(torch.eye(horizon, dtype=torch.float64), dim=0)
    return torch.fft.ifft(scale.unsqueeze(-1) * spectrum, dim=0).real.float()
