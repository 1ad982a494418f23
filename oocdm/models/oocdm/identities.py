"""Who is who: encodings of the objects of a class by their places, for objects that differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import final

import torch
from torch import Tensor, nn

from oocdm.models.initial import xavier

# From which objects are present, (batch, object), to who they are, (1 or batch, object, channel).
Tell = Callable[[Tensor], Tensor]


class Identities(nn.Module):
    """A GRU that goes through the objects of a class both ways, and reads nothing of them.

    Its states tell objects apart by their places alone. It takes a step an object, so that it goes
    as far as there are objects: what it says on its way forth depends on how many objects stand
    before, on its way back on how many stand behind. The object at the end is the last that is
    present; places beyond it are padding, which changes nothing.

    >>> identities = Identities(4)
    >>> few, many = (identities(torch.ones(1, n, dtype=torch.bool)) for n in (2, 3))
    >>> few.shape, torch.equal(few[:, 0, :2], many[:, 0, :2])
    (torch.Size([1, 2, 4]), True)
    >>> torch.equal(few[:, 0, 2:], many[:, 1, 2:])
    True
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        half = dim // 2
        self.start = nn.Parameter(torch.zeros(2, half))
        self.weight = xavier(2, half, 3 * half, fan_in=half, fan_out=3 * half)
        # Not 0, whatever other biases are: from a start of 0 all states would be the same.
        self.input_bias = nn.Parameter(torch.randn(2, 3 * half))
        self.hidden_bias = nn.Parameter(torch.randn(2, 3 * half))

    def forward(self, present: Tensor) -> Tensor:
        """Who the objects are: (1 or batch, object, channel); 1 if all worlds have as many."""
        return _in_place(self.states(present.shape[1]), present)

    def states(self, num: int) -> Tensor:
        """The states after 1 to so many steps: (direction, step, channel)."""
        found: list[Tensor] = []
        for _ in range(num):
            found.append(self._step(found[-1] if found else self.start))
        return torch.stack(found, 1) if found else self.start.new_zeros(2, 0, self.start.shape[1])

    def _step(self, state: Tensor) -> Tensor:
        hidden = torch.bmm(state.unsqueeze(1), self.weight).squeeze(1) + self.hidden_bias
        own, past = self.input_bias.chunk(3, -1), hidden.chunk(3, -1)
        reset, update = ((own[i] + past[i]).sigmoid() for i in range(2))
        new = (own[2] + reset * past[2]).tanh()
        return new + update * (state - new)


@final
class KnownIdentities:
    """The same for weights that stay as they are: each step is taken once.

    >>> identities = Identities(4)
    >>> known, present = KnownIdentities(identities), torch.ones(1, 3, dtype=torch.bool)
    >>> torch.equal(known(present), identities(present))
    True
    """

    def __init__(self, identities: Identities) -> None:
        self._identities, self._states = identities, identities.states(0)

    @torch.no_grad()
    def __call__(self, present: Tensor) -> Tensor:
        num = present.shape[1]
        if num > self._states.shape[1]:
            self._states = self._identities.states(num)
        return _in_place(self._states[:, :num], present)


def _in_place(states: Tensor, present: Tensor) -> Tensor:
    """The states of both directions for each object: (1 or batch, object, channel)."""
    place = torch.arange(present.shape[1], device=present.device)
    ends = present.new_full((1,), present.shape[1], dtype=torch.long)
    if present.numel():
        each = torch.where(present, place + 1, 0).amax(1)
        ends = each[:1] if bool((each == each[0]).all()) else each
    behind = (ends.unsqueeze(1) - 1 - place).clamp(min=0)
    return torch.cat([states[0].expand(len(behind), -1, -1), states[1][behind]], dim=-1)


def told(identities: Mapping[str, Tell], present: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Who the objects of all classes are: (1 or batch, object, channel) each.

    >>> told({"Ball": Identities(4)}, {"Ball": torch.ones(5, 3, dtype=torch.bool)})["Ball"].shape
    torch.Size([1, 3, 4])
    """
    return {c: tell(present[c]) for c, tell in identities.items()}
