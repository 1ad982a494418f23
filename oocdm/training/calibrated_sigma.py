"""How small a predicted standard deviation may be, judged on held-out transitions."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from oocdm.graph import Graph
from oocdm.models.prediction import ClassPrediction, WidePart
from oocdm.models.prepared import Prepared
from oocdm.models.world_model import AbstractWorldModel

NUM_FLOORS = 33  # floors that are tried, from the finest resolution to the spread of the change
SMALLEST_FLOOR = 1e-4  # where no finest resolution is given
SURPRISE = 3.0  # the imagined error, in units of the largest one seen
FINER = 1e-3  # of a mixture's floors, the finest as a share of that of normals
# Of its predicted sigmas. Blurred scores do not tell sigmas apart that are smaller than the blur.
SHARES = tuple(2.0**-halvings for halvings in range(8))
CHUNK = 4096


@torch.no_grad()
def calibrate_sigma(model: AbstractWorldModel, graph: Graph, data: Prepared, finest: float) -> None:
    """Set the floor of every predicted sigma to what explains held-out transitions best.

    A field without noise lets sigma shrink without end, and one surprise then costs more than
    all else earned. To the held-out errors one imagined surprise is added, three times as large
    as the largest error among them: with n transitions seen, nobody knows that a rarer one
    cannot come. A mixture has its wide part for surprises: nothing is imagined there, and its
    narrow part becomes as narrow as held-out data say, by a share of what was predicted and by
    finer floors. `finest` is the smallest floor of normals, as a fraction of the spread of the
    change.
    """
    for c in model.schema.classes:
        model.heads[c].calibrated_sigma.zero_()
        model.heads[c].calibrated_share.fill_(1.0)
    structures = model.structures(graph)
    errors: dict[str, _Errors] = {}

    def add(into: dict[str, _Errors], some: Prepared) -> None:
        (predictions,) = model(some.inputs, structures)
        for c, prediction in predictions.classes.items():
            if some.targets.known[c].shape[1] == 0:
                continue  # no object, no error
            if c not in into:
                head = model.heads[c]
                into[c] = _Errors(head.spread("change_sd"), head.is_mixture, finest)
            into[c].add(prediction, some.targets.values[c], some.targets.known[c])

    # What is largest: errors under all floors at once.
    for chunk in data.chunks(CHUNK, lambda some: add({}, some)):
        add(errors, chunk)
    for c, found in errors.items():
        share, floor = found.best()
        model.heads[c].calibrated_share.copy_(share)
        model.heads[c].calibrated_sigma.copy_(floor)


class _Errors:
    """What held-out errors say of the sigmas of one class."""

    def __init__(self, change_sd: Tensor, is_mixture: Tensor, finest: float) -> None:
        self.change_sd, self.is_mixture = change_sd, is_mixture.unsqueeze(-1)
        smallest = math.log10(finest or SMALLEST_FLOOR)
        usual = 10.0 ** torch.linspace(smallest, 0.0, NUM_FLOORS)
        finer = 10.0 ** torch.linspace(smallest + math.log10(FINER), 0.0, NUM_FLOORS)
        usual, finer = (t.to(change_sd.device).view(-1, 1, 1) for t in (usual, finer))
        self.fractions = torch.where(self.is_mixture, finer, usual)  # (floor, target, 1)
        self.shares = SHARES if is_mixture.any() else SHARES[:1]
        self.totals: list[Tensor | float] = [0.0] * len(self.shares)  # (floor, target, component)
        self.largest = torch.zeros_like(change_sd, dtype=torch.float64)
        self.logs = torch.zeros_like(self.largest)  # sums of log sigma
        self.count: Tensor | int = 0

    @property
    def _floors(self) -> Tensor:
        # In double: floors nearly as good as each other must not be told apart by rounding.
        return self.fractions.double() * self.change_sd

    def add(self, prediction: ClassPrediction, values: Tensor, flags: Tensor) -> None:
        """Add the errors of some transitions."""
        known = flags.unsqueeze(-1)
        error = torch.where(known, values - prediction.mean, 0.0).double()
        sigma, floors = prediction.sigma.double(), self._floors[:, None, None]
        for i, share in enumerate(self.shares):
            predicted = share * sigma
            variance = predicted.square() + floors.square()
            score = -0.5 * (error.square() / variance + variance.log())
            if prediction.wide is not None:
                score = _with_wide(error, variance, prediction.wide, values, sigma)
            self.totals[i] = self.totals[i] + torch.where(known, score, 0.0).sum((1, 2))
        self.largest = torch.maximum(self.largest, error.abs().amax((0, 1)))
        self.logs = self.logs + torch.where(known, sigma.log(), 0.0).sum((0, 1))
        self.count = self.count + known.sum((0, 1))

    def best(self) -> tuple[Tensor, Tensor]:
        """The share of each predicted sigma, and its floor."""
        sigma = (self.logs / torch.as_tensor(self.count).clamp(min=1)).exp()
        variance = self._floors.square() + sigma.square()
        surprise = (SURPRISE * self.largest).square()
        imagined = -0.5 * (surprise / variance + variance.log())
        # Normals keep what was predicted, and expect a surprise.
        whole = torch.as_tensor(self.totals[0]) + torch.where(self.is_mixture, 0.0, imagined)
        others = (torch.as_tensor(t) for t in self.totals[1:])
        scores = [whole, *(torch.where(self.is_mixture, t, -torch.inf) for t in others)]
        best = torch.cat(scores).argmax(0)
        shares = torch.tensor(self.shares, device=best.device)[best // NUM_FLOORS]
        fractions = self.fractions.expand(-1, -1, best.shape[1])
        floor = fractions.gather(0, (best % NUM_FLOORS).unsqueeze(0)).squeeze(0)
        return shares, floor.to(self.change_sd) * self.change_sd


def _with_wide(
    error: Tensor, variance: Tensor, wide: WidePart, values: Tensor, predicted: Tensor
) -> Tensor:
    """Scores of narrow parts, those of mixtures with the wide part, whose sigma grows as theirs."""
    is_mixture, narrow = wide.is_mixture.unsqueeze(-1), variance.sqrt()
    chance = torch.where(is_mixture, wide.chance, 0.5).double()
    sigma = wide.sigma.double() + (narrow - predicted)
    # Against the narrow part: a ratio of sigmas has no unit, its logarithm is the same in all.
    other = -0.5 * ((values - wide.mean).double() / sigma).square() - (sigma / narrow).log()
    own, logs = -0.5 * error.square() / variance, -0.5 * variance.log()
    mixed = torch.logaddexp(own + torch.log1p(-chance), other + chance.log())
    return torch.where(is_mixture, mixed, own) + logs
