"""How much objects hear of others, by who both are.

Where objects differ, a class edge may hold for some pairs of objects only. Sums, means and largest
values over all senders cannot leave some of them out. So a receiver is more or less open to each
sender, in the same way in all that a target gathers: what is summed is multiplied by the openness;
what is weighted has its logarithm added to the scores; and where values compete for being the
largest, something is taken off (see `OpenExtremes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from oocdm.models.initial import xavier
from oocdm.models.named import ParametersByName
from oocdm.models.oocdm.view import View

RANK = 8  # of the table of scores
SMALL = 0.3  # of usual weights: all pairs begin nearly alike
OPEN = 1.0  # the score of a pair at first: open, but not so much that it cannot close


class Openness(nn.Module):
    """The openness of a class's objects to all others: products of who both are, by target.

    >>> openness = Openness(["Ball"], num_targets=2, dim=4)
    >>> log_open = openness("Ball", torch.randn(1, 3, 4), torch.randn(1, 5, 4))
    >>> log_open.shape, bool((log_open < 0).all())
    (torch.Size([1, 3, 5, 2]), True)
    """

    def __init__(self, classes: Sequence[str], num_targets: int, dim: int) -> None:
        super().__init__()

        def weights(scale: float) -> ParametersByName:
            drawn = {k: xavier(num_targets, dim, RANK, fan_in=dim, fan_out=RANK) for k in classes}
            return ParametersByName({k: nn.Parameter(scale * w.data) for k, w in drawn.items()})

        self.receiver, self.sender = weights(1.0), weights(SMALL)
        start = torch.full((num_targets,), OPEN)
        self.bias = ParametersByName({k: nn.Parameter(start.clone()) for k in classes})

    def forward(self, k: str, ours: Tensor, theirs: Tensor) -> Tensor:
        """Logarithms of how open receivers are to senders: (1 or batch, receiver, sender, target).

        `ours` and `theirs` are who receivers and senders are, (1 or batch, object, channel).
        """
        query, key = (
            torch.einsum("bod,sdr->bsor", who, weight[k])
            for who, weight in ((ours, self.receiver), (theirs, self.sender))
        )
        scores = (query @ key.transpose(-1, -2)).permute(0, 2, 3, 1) + self.bias[k]
        return functional.logsigmoid(scores)

    def literal(self, i: int, k: str, ours: Tensor, theirs: Tensor) -> Tensor:
        """The same of target i: (1 or batch, receiver, sender)."""
        query, key = ours @ self.receiver[k][i], theirs @ self.sender[k][i]
        scores = (query.unsqueeze(2) * key.unsqueeze(1)).sum(-1) + self.bias[k][i]
        return functional.logsigmoid(scores)

    def of_target(self, i: int, c: str, k: str) -> Callable[[View], Tensor]:
        """The same of target i of class c, for a state: (1 or batch, receiver, sender)."""
        receiver, sender, bias = self.receiver[k][i], self.sender[k][i], self.bias[k][i]

        def of_view(view: View) -> Tensor:
            query, key = view.identity(c) @ receiver, view.identity(k) @ sender
            return functional.logsigmoid(query @ key.transpose(-1, -2) + bias)

        return lambda view: view.once(("openness", c, k, i), lambda: of_view(view))
