"""Whether anything is left to be found: do random functions of everything predict the errors?

What a model leaves unexplained of a target is chance, or something that its network has not
learned. Random functions of the object itself and of what is between it and others tell the two
apart in a fraction of the time that learning takes: their weights are never trained, only a ridge
regression on the model's errors is solved, and judged on held-out episodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import torch
from torch import Tensor
from torch.nn import functional

from oocdm.discovery.gains import Gains, gains_of_clusters
from oocdm.graph import Structure
from oocdm.models.memory import Fit, largest_fit, measure
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.parts.pairs import Pairs
from oocdm.models.prediction import Predictions
from oocdm.models.prepared import Prepared
from oocdm.models.world_model import Structures

NUM = 96  # random functions of each kind
RIDGES = (0.2, 1.0, 5.0)  # added to the correlations of features with themselves: one suits each
SURE = 2.0  # standard errors
LARGEST = 4.0  # errors, in what was predicted of them: one surprise must not drown the others
NUMBERS = 2**23  # of random functions of pairs at once
PAIRS = 2**23  # pairs of objects that are looked at, at most
BLUR = 0.1  # of a usual change: what is finer is explained well enough


@torch.no_grad()
def what_is_unexplained(
    model: OocdmModel, structure: Structure, training: Prepared, held_out: Prepared
) -> Gains:
    """Nats a value that random functions would add to each target, in the order of its edges.

    It is a lower bound, and below 0 where there is nothing: a regression errs, too. Of several
    ridges each target has the one by which surely the most is found. The data must be prepared
    with what pairs read.
    """
    rows, found = model.structures(structure), []
    for c in model.predictors:
        functions = _Functions(model, c)
        before, ridge, after = functions.correlations(rows, training)
        weights = [torch.linalg.solve(before + r * ridge, after) for r in RIDGES]
        gains: list[list[Tensor]] = [[] for _ in RIDGES]
        known = []
        for features, errors, is_known in functions.chunks(rows, held_out):
            for weight, each in zip(weights, gains, strict=True):
                rest = errors - features @ weight
                gain = torch.where(is_known, errors.square() - rest.square(), 0.0) / 2
                each.append(functions.by_target(gain).sum(1))
            known.append(functions.by_target(is_known.to(gain)).sum(1) / functions.sizes)
        cluster = held_out.cluster[: functions.num(held_out)]
        tried = [gains_of_clusters(torch.cat(g), torch.cat(known), cluster) for g in gains]
        found.append(reduce(_surer, tried))
    return Gains.joined(found)


def _surer(one: Gains, other: Gains) -> Gains:
    """For each target what is surely more."""
    surely = [gains.mean - SURE * gains.error for gains in (one, other)]
    return one.replaced(other, surely[1] > surely[0])


@torch.no_grad()
def fit_of_unexplained(model: OocdmModel, structure: Structure, data: Prepared) -> Fit:
    """How many transitions are looked at once, and what that takes: of the most costly class."""
    rows = model.structures(structure)
    fits = [_Functions(model, c).at_once(rows, data) for c in model.predictors]
    return Fit(min(f.size for f in fits), max(f.taken for f in fits))


class _Functions:
    """Random functions of what the objects of a class could read, and the errors of a model."""

    def __init__(self, model: OocdmModel, c: str) -> None:
        self.model, self.c = model, c
        self.fields = model.heads[c].targets
        self.generator = torch.Generator().manual_seed(0)
        sizes = [f.size * (f.num_codes if f.is_choice else 1) for f in self.fields.values()]
        self.target_of = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
        self.sizes = torch.tensor(sizes, dtype=torch.float32)
        self.weights: dict[str, Tensor] = {}
        self.centre: Tensor | None = None

    def num(self, data: Prepared) -> int:
        """How many transitions are looked at."""
        present = data.rows(slice(0, 1)).inputs.present
        pairs = present[self.c].shape[1] * sum(p.shape[1] for p in present.values())
        return min(len(data), max(PAIRS // max(pairs, 1), 1024))

    def at_once(self, rows: Structures, data: Prepared) -> Fit:
        """How many transitions fit into the budget of the data, and what they take."""
        objects = [p.shape[1] for p in data.rows(slice(0, 1)).inputs.present.values()]
        most = max(NUMBERS // (max(objects) ** 2 * NUM * len(objects)), 8)

        def taken(num: int) -> int:
            # Others, since the first ones give features their units.
            others, some = _Functions(self.model, self.c), data.rows(data.fullest(num))
            return measure(lambda: others.chunk(rows, some)).peak

        most, limits = min(most, self.num(data)), (data.budget.working, data.budget.largest)
        return data.fit(f"unexplained {self.c}", lambda: largest_fit(taken, most, *limits))

    def by_target(self, of_components: Tensor) -> Tensor:
        """Sums over the components of each target."""
        shape = (*of_components.shape[:-1], len(self.fields))
        return of_components.new_zeros(shape).index_add_(-1, self.target_of, of_components)

    def correlations(self, rows: Structures, data: Prepared) -> tuple[Tensor, Tensor, Tensor]:
        """Of features with themselves, a ridge of size 1, and of features with the errors."""
        num, own, with_errors = 0, torch.zeros(()), torch.zeros(())
        for features, errors, _ in self.chunks(rows, data):
            x = features.flatten(0, 1)
            own, with_errors = own + x.T @ x, with_errors + x.T @ errors.flatten(0, 1)
            num += len(x)
        return own, max(num, 1) * torch.eye(len(own)), with_errors

    def chunks(self, rows: Structures, data: Prepared) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """What `chunk` gives, as many transitions at a time as fit into memory."""
        num, size = self.num(data), max(self.at_once(rows, data).size, 1)
        for i in range(0, num, size):
            yield self.chunk(rows, data.rows(slice(i, min(i + size, num))))
            data.budget.ceiling.hold()

    def chunk(self, rows: Structures, some: Prepared) -> tuple[Tensor, Tensor, Tensor]:
        """Features (batch, object, feature), errors and what is known (.., component).

        Errors are 0 where they are not known.
        """
        (found,) = self.model(some.inputs, rows)
        errors, known = self._errors(some, found)
        return self._features(some), errors, known

    def _errors(self, some: Prepared, found: Predictions) -> tuple[Tensor, Tensor]:
        predicted, targets, columns, known = found.classes[self.c], some.targets, [], []
        blur = BLUR * self.model.heads[self.c].usual_change()
        for i, (v, field) in enumerate(self.fields.items()):
            values = targets.values[self.c][:, :, i, : field.size]
            if field.is_choice:
                codes = field.to_codes(values.long())
                chance = predicted.logits[v].softmax(-1)
                chosen = functional.one_hot(codes.clamp(min=0), field.num_codes)
                error = (chosen - chance) / (chance * (1 - chance)).sqrt().clamp(min=0.1)
                error = error.flatten(-2)
            else:
                sigma = torch.hypot(predicted.sigma[:, :, i, : field.size], blur[i, : field.size])
                error = (values - predicted.mean[:, :, i, : field.size]) / sigma
            is_known = targets.known[self.c][:, :, i, None].expand_as(error)
            columns.append(torch.where(is_known, error.clamp(-LARGEST, LARGEST), 0.0))
            known.append(is_known)
        return torch.cat(columns, -1).float().cpu(), torch.cat(known, -1).cpu()

    # ---------------------------------------------------------------- features

    def _features(self, some: Prepared) -> Tensor:
        inputs = some.inputs.map(lambda t: t.float().cpu() if t.is_floating_point() else t.cpu())
        read = {c: features.flatten(2) for c, features in inputs.features.items()}
        for c, who in self.model.who(some.inputs).items():
            each = who.float().cpu().expand(len(read[c]), -1, -1)
            read[c] = torch.cat([read[c], each], -1)
        own = read[self.c]
        found = [(own @ self._random("own", own.shape[2]) + self._random("own", 0)).relu()]
        for k, sent in read.items():
            if not sent.shape[1]:
                continue
            others = inputs.others(k, self.c).unsqueeze(-1)
            ours = own @ self._random(f"{k} own", own.shape[2])
            hidden = (sent @ self._random(f"{k} sent", sent.shape[2])).unsqueeze(1)
            hidden = hidden + ours.unsqueeze(2) + self._random(k, 0)
            values = (sent @ self._random(f"{k} value", sent.shape[2])).unsqueeze(1)
            values = values + self._random(f"{k} value", 0)
            between = inputs.extra.get((Pairs.name, k, self.c))
            if between is not None:
                hidden = hidden + between @ self._random(f"{k} between", between.shape[3])
                values = values + between @ self._random(f"{k} between value", between.shape[3])
            hidden = hidden.relu()
            found += [(hidden * others).sum(2), (hidden * values * others).sum(2)]
            found.append((hidden * values).tanh().masked_fill(~others, -1.0).amax(2))
        features, present = torch.cat(found, -1), inputs.present[self.c]
        if self.centre is None:  # in units of the first ones
            these = features[present] if present.any() else features.flatten(0, 1)
            self.centre = these.mean(0)
            self.spread = these.std(0, correction=0) + 1e-6
        standard = ((features - self.centre) / self.spread).clamp(-6.0, 6.0)
        return standard * present.unsqueeze(-1)

    def _random(self, name: str, width: int) -> Tensor:
        """Random weights of so many inputs, or biases, the same whenever they are asked for."""
        key = f"{name} {width}"
        if key not in self.weights:
            shape = (width, NUM) if width else (NUM,)
            drawn = torch.randn(shape, generator=self.generator) / max(width, 1) ** 0.5
            self.weights[key] = drawn
        return self.weights[key]
