"""How small a predicted standard deviation may be, judged on held-out transitions."""

from __future__ import annotations

import torch
from torch import Tensor

from oocdm.graph import ClassGraph
from oocdm.models.network import AbstractWorldModel
from oocdm.models.prepared import Prepared

# Floors that are tried, in units of the spread of a field's change.
FRACTIONS = 10.0 ** torch.linspace(-4, 0, 33)
CHUNK = 4096


@torch.no_grad()
def calibrate_sigma(model: AbstractWorldModel, graph: ClassGraph, data: Prepared) -> None:
    """Set the floor of every predicted sigma to what explains held-out transitions best.

    A field without noise lets sigma shrink without end, and one surprise then costs more than
    all else earned. To the held-out errors one imagined surprise is added, as large as the
    field's usual change: with n transitions seen, nobody knows that a rarer one cannot come.
    """
    for c in model.predictors:
        model.head_scales(c).sigma_floor.zero_()
    structures = model.structures(graph)
    totals: dict[str, Tensor] = {}
    counts: dict[str, Tensor] = {}
    for chunk in data.chunks(CHUNK):
        predictions = model.decode(chunk.inputs, structures)
        for c, prediction in predictions.classes.items():
            known = chunk.targets.known[c].unsqueeze(-1)
            error = torch.where(known, chunk.targets.values[c] - prediction.mean, 0.0)
            floors = FRACTIONS.to(error).view(-1, 1, 1, 1, 1) * model.head_scales(c).change_sd
            variance = prediction.sigma.square() + floors.square()
            score = -0.5 * (error.square() / variance + variance.log())
            total = torch.where(known, score, 0.0).sum((1, 2)).double()
            totals[c] = totals.get(c, torch.zeros_like(total)) + total
            counts[c] = counts.get(c, 0) + known.sum((0, 1))
    for c, total in totals.items():
        scales = model.head_scales(c)
        floors = FRACTIONS.to(scales.change_sd).view(-1, 1, 1) * scales.change_sd
        tiny = torch.finfo(total.dtype).tiny
        variance = (floors.square() + model.options.sigma_floor**2).double() + tiny
        imagined = -0.5 * (scales.change_sd.square().double() / variance + variance.log())
        best = (total + imagined).argmax(0)
        chosen = FRACTIONS.to(scales.change_sd)[best] * scales.change_sd
        scales.sigma_floor.copy_(chosen)
