"""Copies of a model that went on learning from other episodes: where they disagree, none knows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.graph import Graph
from oocdm.models.prediction import ClassPrediction, Predictions, log_floored_softmax
from oocdm.models.prepared import Prepared
from oocdm.models.world_model import AbstractPredictor, AbstractWorldModel, Structures

# Of how far apart copies are, at most: those that came of one model are more alike than what they
# do not know. Chosen on generated worlds with seeds from 10000 on, as the next.
MOST = 2.0
USUAL = 0.75  # of held-out predictions have copies that are no further apart than usual
CHUNK = 512
SEEN = 4096  # held-out transitions that tell how far apart copies usually are, at most


@final
@dataclass(frozen=True)
class Copies:
    """Copies of a model, and how far from it they usually are: (target, component) a class.

    Where data were, copies agree, since all were fitted to them. Elsewhere each goes on in its own
    way, and as far as they are further apart than usual the model cannot know. Copies may be
    further from the model than that is from the truth: `times` says how much of it counts.
    """

    models: tuple[AbstractWorldModel, ...]
    usual: Mapping[str, Tensor]
    times: Mapping[str, Tensor]

    @staticmethod
    @torch.no_grad()
    def measured(
        model: AbstractWorldModel,
        models: Sequence[AbstractWorldModel],
        structures: Structures,
        data: Prepared,
    ) -> Copies:
        """Copies of a model with what is usual of them on data that it was not fitted on."""
        classes = predicted_classes(model)
        apart: dict[str, list[Tensor]] = {c: [] for c in classes}
        errors: dict[str, list[Tensor]] = {c: [] for c in classes}

        def look(some: Prepared) -> list[Predictions]:
            return [each(some.inputs, structures)[0] for each in (model, *models)]

        for chunk in data.rows(slice(0, SEEN)).chunks(CHUNK, look):
            base, *others = look(chunk)
            for c in classes:
                known = chunk.targets.known[c]
                found = squares_apart(base.classes[c], [p.classes[c] for p in others]).sqrt()
                wrong = (chunk.targets.values[c] - base.classes[c].mean).abs()
                for into, values in ((apart, found), (errors, wrong)):
                    is_unknown = ~known.unsqueeze(-1)
                    into[c].append(values.masked_fill(is_unknown, torch.nan).flatten(0, 1))
        usual, times = {}, {}
        for c in classes:
            usual[c] = _quantile(torch.cat(apart[c]), USUAL)
            ratio = _quantile(torch.cat(errors[c]), USUAL) / usual[c]
            times[c] = ratio.nan_to_num(0.0, posinf=MOST).clamp(max=MOST)
        return Copies(tuple(models), usual, times)

    def compile_for(self, model: AbstractWorldModel, graph: Graph) -> DoubtfulPredictor:
        """A model under one graph, with the doubts that its copies have."""
        predictors = [each.compile_for(graph) for each in (model, *self.models)]
        units = {c: model.heads[c].usual_change() for c in self.usual}
        return DoubtfulPredictor(predictors[0], predictors[1:], self.usual, self.times, units)


@final
class DoubtfulPredictor(AbstractPredictor):
    """Predictions that are as much less sure as copies are further apart than usual.

    The standard deviations of numbers grow, the means stay; probabilities of choices are the mean
    of all copies'.
    """

    def __init__(
        self,
        predict: AbstractPredictor,
        others: Sequence[AbstractPredictor],
        usual: Mapping[str, Tensor],
        times: Mapping[str, Tensor],
        units: Mapping[str, Tensor],
    ) -> None:
        self._predict, self._others, self._units = predict, others, units
        self._usual, self._times = usual, times

    @torch.no_grad()
    def __call__(self, before: Snapshot) -> Predictions:
        base, others = self._predict(before), [other(before) for other in self._others]
        classes = {c: doubted(p, *self._widening(c, p, others)) for c, p in base.classes.items()}
        return Predictions(base.schema, classes)

    @torch.no_grad()
    def doubt(self, before: Snapshot, targets: Collection[str]) -> Tensor:
        """How unsure the copies are of some targets, (batch,): the mean over their values.

        Of a number it is what its standard deviation grows by, in usual changes; of a choice, how
        much of the probability moves.
        """
        base, others = self._predict(before), [other(before) for other in self._others]
        total, count = torch.zeros(()), torch.zeros(())
        for c, p in base.classes.items():
            theirs, grown = self._widening(c, p, others)
            present, found = before.present[c], (grown / self._units[c]).mean(-1)
            for v, logits in doubted(p, theirs, grown).logits.items():
                moved = (logits.softmax(-1) - p.logits[v].softmax(-1)).abs().sum(-1) / 2
                found[..., base.schema.targets(c).index(v)] = moved.mean(-1)
            is_asked = [f"{c}.{v}" in targets for v in base.schema.targets(c)]
            asked = torch.tensor(is_asked, device=found.device)
            total = total + (found[..., asked] * present.unsqueeze(-1)).sum((1, 2))
            count = count + present.sum(1) * int(asked.sum())
        return total / count.clamp(min=1)

    def _widening(
        self, c: str, base: ClassPrediction, others: Sequence[Predictions]
    ) -> tuple[list[ClassPrediction], Tensor]:
        """What the copies say of a class, and what sigmas grow by."""
        theirs = [other.classes[c] for other in others]
        return theirs, widening(base, theirs, self._usual[c], self._times[c])


def predicted_classes(model: AbstractWorldModel) -> list[str]:
    """The classes that have anything to predict."""
    return [c for c in model.schema.classes if model.schema.targets(c)]


def squares_apart(base: ClassPrediction, others: Sequence[ClassPrediction]) -> Tensor:
    """The mean square of how far the means of others are from those of a prediction."""
    return torch.stack([(each.mean - base.mean).square() for each in others]).mean(0)


def widening(
    base: ClassPrediction, others: Sequence[ClassPrediction], usual: Tensor, times: Tensor
) -> Tensor:
    """What sigmas grow by, as the sides of right angles do: (batch, object, target, component).

    >>> from dataclasses import replace
    >>> one = torch.ones(1, 1, 1, 1)
    >>> base = ClassPrediction(one, one, {})
    >>> others = [replace(base, mean=6 * one), replace(base, mean=-4 * one)]
    >>> widening(base, others, usual=3 * one[0, 0], times=2 * one[0, 0]).item()
    8.0
    """
    more = squares_apart(base, others) - usual.square()
    return times * more.clamp(min=0).sqrt()


def doubted(
    base: ClassPrediction, others: Sequence[ClassPrediction], grown: Tensor
) -> ClassPrediction:
    """A prediction as sure as it can be, given what others say and what sigmas grow by."""
    wide = base.wide
    if wide is not None:
        wide = replace(wide, sigma=torch.hypot(wide.sigma, grown))
    count = torch.tensor(1.0 + len(others))
    logits = {
        v: torch.stack([log_floored_softmax(each.logits[v]) for each in (base, *others)])
        .logsumexp(0)
        .sub(count.log())
        for v in base.logits
    }
    return ClassPrediction(base.mean, torch.hypot(base.sigma, grown), logits, wide)


def _quantile(rows: Tensor, share: float) -> Tensor:
    """Of each column over what is known of it; 0 where nothing is."""
    if not len(rows):
        return rows.new_zeros(rows.shape[1:])
    return rows.double().nanquantile(share, dim=0).nan_to_num().to(rows)
