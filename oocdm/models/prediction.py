"""What a world model predicts: a distribution for every target field of every object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from oocdm.models.features import Targets
from oocdm.models.mixture_field import MixtureField
from oocdm.models.normal_field import NormalField
from oocdm.schema import Boolean, Field, FieldKey, Schema

LOG_2PI = 1.8378770664093453
PROBABILITY_FLOOR = 1e-5


@dataclass(frozen=True)
class CategoricalField:
    """A choice among the field's values, one a component: (batch, object, *shape, value)."""

    field: Field
    log_probabilities: Tensor

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Draw values of the field."""
        return self.with_uniform(self.draw_uniform(generator))

    def draw_uniform(
        self, generator: torch.Generator | None = None, rows: int | None = None
    ) -> Tensor:
        """Numbers that values are drawn with, of so many rows; of its own unless that is said."""
        logits = self.log_probabilities
        shape = logits.shape[:-1] if rows is None else (rows, *logits.shape[1:-1])
        # On the processor, where the generator is: so draws are the same on every device.
        uniform = torch.rand(shape, generator=generator, dtype=logits.dtype)
        return uniform.to(logits.device)

    def with_uniform(self, uniform: Tensor) -> Tensor:
        """The value into whose share of [0, 1] each number falls."""
        below = self.log_probabilities.exp().cumsum(-1)
        # Rounding may leave the sum of all a little off 1: the last value has what is left.
        drawn = (below[..., :-1] <= uniform.unsqueeze(-1)).sum(-1)
        return self.field.from_codes(drawn)

    def mode(self) -> Tensor:
        """The most likely value of the field."""
        return self.with_noise(torch.zeros(()))

    def noise_of(self, value: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Noise with which the prediction becomes a value, drawn from all that does.

        A choice is the largest of log-probability plus Gumbel noise. The largest sum does not
        depend on which one it is; the others are drawn below it.
        """
        logits = self.log_probabilities
        code = self.field.to_codes(value.long())
        is_chosen = functional.one_hot(code, logits.shape[-1]).bool()
        uniform = torch.rand(logits.shape, generator=generator, dtype=torch.float64)
        gumbel = -(-uniform.clamp(1e-12, 1 - 1e-12).log()).log()
        free = logits.double() + gumbel.to(logits.device)
        top = torch.where(is_chosen, gumbel.to(logits.device), 0.0).sum(-1, keepdim=True)
        below = -((-top).exp() + (-free).exp()).log()
        return torch.where(is_chosen, top, below) - logits.double()

    def with_noise(self, noise: Tensor) -> Tensor:
        """The value that the prediction becomes with some noise."""
        return self.field.from_codes((self.log_probabilities + noise).argmax(-1))


FieldDistribution = NormalField | MixtureField | CategoricalField


class FieldPredictions(Protocol):
    """Distributions of target fields, indexed as `predictions["Block.s1"]`."""

    def __getitem__(self, key: FieldKey) -> FieldDistribution:
        """The distribution of one target for every object."""
        ...


def log_floored_softmax(logits: Tensor) -> Tensor:
    """Logarithms of probabilities that are never below 1e-5 (before renormalising)."""
    floored = functional.softmax(logits, dim=-1) + PROBABILITY_FLOOR
    return floored.log() - floored.sum(-1, keepdim=True).log()


@dataclass(frozen=True)
class WidePart:
    """The wide parts of the targets of one class that are mixtures, stacked.

    `mean`, `sigma` and `chance` are (batch, object, target, component), meaningful for the
    targets in `is_mixture` (target,).
    """

    mean: Tensor
    sigma: Tensor
    chance: Tensor
    is_mixture: Tensor

    def map(self, change: Callable[[Tensor], Tensor]) -> WidePart:
        """The same with every tensor that has a batch replaced by `change` of it."""
        return WidePart(change(self.mean), change(self.sigma), change(self.chance), self.is_mixture)

    @staticmethod
    def stack(each: Sequence[WidePart]) -> WidePart:
        """Several batches, one after the other."""
        means, sigmas, chances = (
            [getattr(w, n) for w in each] for n in ("mean", "sigma", "chance")
        )
        return WidePart(torch.cat(means), torch.cat(sigmas), torch.cat(chances), each[0].is_mixture)


@dataclass(frozen=True)
class ClassPrediction:
    """Distributions of all target fields of one class, stacked.

    `mean` and `sigma` are (batch, object, target, component), meaningful for the normal
    targets, and for mixtures those of the narrow part, beside which `wide` has the other one;
    `logits[target]` is (batch, object, component, value) for the categorical ones.
    """

    mean: Tensor
    sigma: Tensor
    logits: Mapping[str, Tensor]
    wide: WidePart | None = None

    @staticmethod
    def stack(each: Sequence[ClassPrediction]) -> ClassPrediction:
        """Several batches, one after the other."""
        return ClassPrediction(
            torch.cat([p.mean for p in each]),
            torch.cat([p.sigma for p in each]),
            {v: torch.cat([p.logits[v] for p in each]) for v in each[0].logits},
            WidePart.stack(wide)
            if (wide := [p.wide for p in each if p.wide is not None])
            else None,
        )

    def map(self, change: Callable[[Tensor], Tensor]) -> ClassPrediction:
        """The same with every tensor that has a batch replaced by `change` of it."""
        return ClassPrediction(
            change(self.mean),
            change(self.sigma),
            {v: change(t) for v, t in self.logits.items()},
            None if self.wide is None else self.wide.map(change),
        )


class Predictions:
    """Distributions of every target field, indexed as `predictions["Block.s1"]`."""

    def __init__(self, schema: Schema, classes: Mapping[str, ClassPrediction]) -> None:
        self.schema = schema
        self.classes = classes

    def __getitem__(self, key: FieldKey) -> FieldDistribution:
        c, f = self.schema.split(key)
        field = self.schema.field(c, f)
        prediction = self.classes[c]
        if field.is_choice:
            log_probabilities = log_floored_softmax(prediction.logits[f])
            if field.shape == ():
                log_probabilities = log_probabilities.squeeze(-2)
            return CategoricalField(field, log_probabilities)
        i = self.schema.targets(c).index(f)

        def own(of_targets: Tensor) -> Tensor:
            components = of_targets[:, :, i, : field.size]
            return components.squeeze(-1) if field.shape == () else components

        narrow = NormalField(field, own(prediction.mean), own(prediction.sigma))
        wide = prediction.wide
        if wide is None or not wide.is_mixture[i]:
            return narrow
        other = NormalField(field, own(wide.mean), own(wide.sigma))
        return MixtureField(narrow, other, own(wide.chance))

    def log_prob(
        self, targets: Targets, resolution: Mapping[str, Tensor] | None = None
    ) -> dict[str, Tensor]:
        """Log-likelihood of each target, (batch, object, target) a class; unknown ones are 0.

        With `resolution` (target, component) a class, normals are scored as if their targets
        had been measured with independent noise of that standard deviation: the expected
        log-likelihood of the blurred target under the equally blurred prediction. Of mixtures
        it is the logarithm of what the expected log-likelihoods of both parts stand for, which
        is at most the expected one, since that sum is convex in them (Jensen).
        """
        scores = {}
        for c, prediction in self.classes.items():
            blur = None if resolution is None else resolution[c]
            score = self._number_scores(c, prediction, targets.values[c], blur)
            names = self.schema.targets(c)
            columns = list(score.unbind(-1))
            for name, logits in prediction.logits.items():
                field = self.schema.field(c, name)
                i = names.index(name)
                value = targets.values[c][:, :, i, : field.size]
                if isinstance(field, Boolean):
                    value = (value + 1) / 2
                # Unknown values hold 0, which need not be one of the field's.
                code = field.to_codes(value.long())
                chosen = log_floored_softmax(logits).gather(-1, code.unsqueeze(-1))
                columns[i] = chosen.squeeze(-1).sum(-1)
            score = torch.stack(columns, -1) if prediction.logits else score
            # where, not a product: 0 * inf would be NaN
            scores[c] = torch.where(targets.known[c], score, torch.zeros_like(score))
        return scores

    def _number_scores(
        self, c: str, prediction: ClassPrediction, values: Tensor, blur: Tensor | None
    ) -> Tensor:
        error, variance = _squared(values, prediction.mean, prediction.sigma, blur)
        score = -0.5 * (error + variance.log() + LOG_2PI)
        if (wide := prediction.wide) is not None:
            wide_error, wide_variance = _squared(values, wide.mean, wide.sigma, blur)
            # Parts are weighed by a ratio of variances: each one alone has a unit, and its
            # logarithm would be rounded differently in another one.
            wide_error = wide_error + (wide_variance / variance).log()
            # Of targets that are no mixtures the chance means nothing, and may be 0.
            is_mixture = wide.is_mixture.unsqueeze(-1)
            chance = torch.where(is_mixture, wide.chance, 0.5)
            mixed = torch.logaddexp(
                torch.log1p(-chance) - 0.5 * error, chance.log() - 0.5 * wide_error
            )
            score = torch.where(is_mixture, mixed - 0.5 * (variance.log() + LOG_2PI), score)
        sizes = [self.schema.field(c, v).size for v in self.schema.targets(c)]
        width = values.shape[-1]
        if any(size < width for size in sizes):
            is_real = torch.arange(width, device=values.device) < torch.tensor(
                sizes, device=values.device
            ).unsqueeze(-1)
            score = score * is_real
        return score.sum(-1)

    def map(self, change: Callable[[Tensor], Tensor]) -> Predictions:
        """The predictions with every tensor replaced by `change` of it."""
        return Predictions(self.schema, {c: p.map(change) for c, p in self.classes.items()})


def _squared(
    values: Tensor, mean: Tensor, sigma: Tensor, blur: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Squared errors in sigmas, expected ones where targets are blurred, and variances."""
    error_squared = (values - mean).square()
    variance = sigma.square()
    if blur is not None:
        variance = variance + blur.square()
        error_squared = error_squared + blur.square()
    return error_squared / variance, variance
