"""What a world model predicts: a distribution for every target field of every object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from oocdm.models.features import Targets
from oocdm.schema import Boolean, Field, FieldKey, Integer, Schema

LOG_2PI = 1.8378770664093453
PROBABILITY_FLOOR = 1e-5
_VANISHING = 30.0  # sigmas from which on probabilities of normals are hardly numbers


@dataclass(frozen=True)
class NormalField:
    """Independent normals, one a component: (batch, object, *shape)."""

    field: Field
    mean: Tensor
    sigma: Tensor

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Draw values of the field; whole numbers are rounded, bounded ones clipped."""
        noise = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype)
        return self.with_noise(noise.to(self.mean.device))

    def mode(self) -> Tensor:
        """The most likely value of the field."""
        return self._to_domain(self.mean)

    def noise_of(self, value: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Noise with which the prediction becomes a value, in sigmas from the mean.

        Values that are rounded, cut off at a bound or true or false come of all the noise in an
        interval, from which it is drawn.
        """
        mean, sigma = self.mean.double(), self.sigma.double()
        numbers = value.double().reshape(mean.shape)
        numbers = 2 * numbers - 1 if isinstance(self.field, Boolean) else numbers
        exact = (numbers - mean) / sigma
        low, high = self._comes_of(numbers)
        noise = truncated_normal((low - mean) / sigma, (high - mean) / sigma, generator)
        # At the very ends rounding may lead to a neighbour.
        is_kept = (low < high) & (self.with_noise(noise) == self._to_domain(numbers))
        return torch.where(is_kept, noise, exact)

    def _comes_of(self, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """The ends of the interval of numbers that become the same value."""
        infinity = torch.full_like(numbers, torch.inf)
        if isinstance(self.field, Boolean):
            zero, is_true = torch.zeros_like(numbers), numbers > 0
            return torch.where(is_true, zero, -infinity), torch.where(is_true, infinity, zero)
        half = 0.5 if isinstance(self.field, Integer) else 0.0
        low, high, held = numbers - half, numbers + half, numbers.float()  # as bounds are held
        if self.field.low is not None:
            low = torch.where(held <= self.field.low, -infinity, low)
        if self.field.high is not None:
            high = torch.where(held >= self.field.high, infinity, high)
        return low, high

    def with_noise(self, noise: Tensor) -> Tensor:
        """The value that the prediction becomes with some noise."""
        return self._to_domain((self.sigma * noise).add_(self.mean))

    def _to_domain(self, numbers: Tensor) -> Tensor:
        if isinstance(self.field, Boolean):
            return (numbers > 0).long()
        low, high = self.field.low, self.field.high
        if isinstance(self.field, Integer):
            # Cut off before and after: a cast wraps, and bounds need not be exact as floats.
            numbers = numbers.round().clamp(-self.field.largest, self.field.largest).long()
        return numbers if low is None and high is None else numbers.clamp(low, high)


def truncated_normal(low: Tensor, high: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Standard normals between two ends, in double precision also far from 0.

    >>> ends = torch.tensor([2.0, 1e5], dtype=torch.float64)
    >>> drawn = truncated_normal(ends, ends + 1, torch.Generator().manual_seed(0))
    >>> bool(((ends < drawn) & (drawn < ends + 1)).all())
    True
    """
    # Below 0 probabilities are small numbers with all their digits, above it they are nearly 1.
    is_above = low + high > 0
    near, far = torch.where(is_above, -low, high), torch.where(is_above, -high, low)
    uniform = torch.rand(low.shape, generator=generator, dtype=torch.float64).to(low.device)
    below, above = (torch.special.log_ndtr(end).exp() for end in (far, near))  # `ndtr` has no tails
    usual = torch.special.ndtri(below + uniform * (above - below))
    # Where even these vanish, the normal falls like an exponential.
    rate = near.abs().clamp(min=1.0)
    tail = near + torch.log1p(uniform * torch.expm1(rate * (far - near))) / rate
    drawn = torch.where(near < -_VANISHING, tail, usual)
    return torch.where(is_above, -drawn, drawn)


@dataclass(frozen=True)
class CategoricalField:
    """A choice among the field's values, one a component: (batch, object, *shape, value)."""

    field: Field
    log_probabilities: Tensor

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Draw values of the field."""
        below = self.log_probabilities.exp().cumsum(-1)
        # On the processor, where the generator is: so draws are the same on every device.
        uniform = torch.rand(below.shape[:-1], generator=generator, dtype=below.dtype)
        # Rounding may leave the sum of all a little off 1: the last value has what is left.
        drawn = (below[..., :-1] <= uniform.to(below.device).unsqueeze(-1)).sum(-1)
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


FieldDistribution = NormalField | CategoricalField


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
class ClassPrediction:
    """Distributions of all target fields of one class, stacked.

    `mean` and `sigma` are (batch, object, target, component), meaningful for the normal
    targets; `logits[target]` is (batch, object, component, value) for the categorical ones.
    """

    mean: Tensor
    sigma: Tensor
    logits: Mapping[str, Tensor]

    @staticmethod
    def stack(each: Sequence[ClassPrediction]) -> ClassPrediction:
        """Several batches, one after the other."""
        return ClassPrediction(
            torch.cat([p.mean for p in each]),
            torch.cat([p.sigma for p in each]),
            {v: torch.cat([p.logits[v] for p in each]) for v in each[0].logits},
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
        if field.likelihood == "categorical":
            log_probabilities = log_floored_softmax(prediction.logits[f])
            if field.shape == ():
                log_probabilities = log_probabilities.squeeze(-2)
            return CategoricalField(field, log_probabilities)
        i = self.schema.targets(c).index(f)
        mean = prediction.mean[:, :, i, : field.size]
        sigma = prediction.sigma[:, :, i, : field.size]
        if field.shape == ():
            mean, sigma = mean.squeeze(-1), sigma.squeeze(-1)
        return NormalField(field, mean, sigma)

    def log_prob(
        self, targets: Targets, resolution: Mapping[str, Tensor] | None = None
    ) -> dict[str, Tensor]:
        """Log-likelihood of each target, (batch, object, target) a class; unknown ones are 0.

        With `resolution` (target, component) a class, normals are scored as if their targets
        had been measured with independent noise of that standard deviation: the expected
        log-likelihood of the blurred target under the equally blurred prediction.
        """
        scores = {}
        for c, prediction in self.classes.items():
            blur = None if resolution is None else resolution[c]
            score = self._normal_scores(c, prediction, targets.values[c], blur)
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

    def _normal_scores(
        self, c: str, prediction: ClassPrediction, values: Tensor, blur: Tensor | None
    ) -> Tensor:
        error_squared = (values - prediction.mean).square()
        variance = prediction.sigma.square()
        if blur is not None:
            variance = variance + blur.square()
            error_squared = error_squared + blur.square()
        score = -0.5 * (error_squared / variance + variance.log() + LOG_2PI)
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
        return Predictions(
            self.schema,
            {
                c: ClassPrediction(
                    change(p.mean), change(p.sigma), {f: change(t) for f, t in p.logits.items()}
                )
                for c, p in self.classes.items()
            },
        )
