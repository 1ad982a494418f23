"""How small a predicted standard deviation may be, judged on held-out transitions."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from oocdm.graph import Graph
from oocdm.models.prepared import Prepared
from oocdm.models.world_model import AbstractWorldModel

NUM_FLOORS = 33  # floors that are tried, from the finest resolution to the spread of the change
SMALLEST_FLOOR = 1e-4  # where no finest resolution is given
SURPRISE = 3.0  # the imagined error, in units of the largest one seen
CHUNK = 4096


@torch.no_grad()
def calibrate_sigma(model: AbstractWorldModel, graph: Graph, data: Prepared, finest: float) -> None:
    """Set the floor of every predicted sigma to what explains held-out transitions best.

    A field without noise lets sigma shrink without end, and one surprise then costs more than
    all else earned. To the held-out errors one imagined surprise is added, three times as large
    as the largest error among them: with n transitions seen, nobody knows that a rarer one
    cannot come. `finest` is the smallest floor, as a fraction of the spread of the change.
    """
    fractions = 10.0 ** torch.linspace(math.log10(finest or SMALLEST_FLOOR), 0.0, NUM_FLOORS)
    for c in model.schema.classes:
        model.heads[c].calibrated_sigma.zero_()
    structures = model.structures(graph)
    totals: dict[str, Tensor] = {}
    largest: dict[str, Tensor] = {}
    usual: dict[str, Tensor] = {}  # sums of log sigma
    counts: dict[str, Tensor | int] = {}

    def work(some: Prepared) -> None:
        """What is largest: errors under all floors at once."""
        (predictions,) = model(some.inputs, structures)
        for c, prediction in predictions.classes.items():
            known = some.targets.known[c].unsqueeze(-1)
            error = (some.targets.values[c] - prediction.mean).double()
            spread = model.heads[c].spread("change_sd")
            _scores(error, prediction.sigma.double(), known, fractions, spread)

    for chunk in data.chunks(CHUNK, work):
        (predictions,) = model(chunk.inputs, structures)
        for c, prediction in predictions.classes.items():
            if chunk.targets.known[c].shape[1] == 0:
                continue  # no object, no error
            known = chunk.targets.known[c].unsqueeze(-1)
            # In double: floors nearly as good as each other must not be told apart by rounding.
            error = torch.where(known, chunk.targets.values[c] - prediction.mean, 0.0).double()
            predicted = prediction.sigma.double()
            spread = model.heads[c].spread("change_sd")
            total = _scores(error, predicted, known, fractions, spread)
            totals[c] = totals.get(c, torch.zeros_like(total)) + total
            top = error.abs().amax((0, 1))
            largest[c] = torch.maximum(largest.get(c, top), top)
            logs = torch.where(known, predicted.log(), 0.0).sum((0, 1))
            usual[c] = usual.get(c, torch.zeros_like(logs)) + logs
            counts[c] = counts.get(c, 0) + known.sum((0, 1))
    for c, total in totals.items():
        head = model.heads[c]
        change_sd = head.spread("change_sd")
        floors = fractions.to(total).view(-1, 1, 1) * change_sd
        sigma = (usual[c] / torch.as_tensor(counts[c]).clamp(min=1)).exp()
        variance = floors.square() + sigma.square()
        surprise = (SURPRISE * largest[c]).square()
        imagined = -0.5 * (surprise / variance + variance.log())
        best = (total + imagined).argmax(0)
        head.calibrated_sigma.copy_(fractions.to(change_sd)[best] * change_sd)


def _scores(
    error: Tensor, sigma: Tensor, known: Tensor, fractions: Tensor, spread: Tensor
) -> Tensor:
    """Log-likelihoods with each floor, sums over all that is known: (floor, target, component)."""
    floors = fractions.to(error).view(-1, 1, 1, 1, 1) * spread
    variance = sigma.square() + floors.square()
    score = -0.5 * (error.square() / variance + variance.log())
    return torch.where(known, score, 0.0).sum((1, 2))
