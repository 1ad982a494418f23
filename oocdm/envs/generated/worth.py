"""What an edge of a generated world is worth: how much its source tells of its target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from scipy.special import logsumexp, xlogy

from oocdm.envs.generated.blueprint import Blueprint
from oocdm.envs.generated.distribution import (
    Choice,
    Counts,
    Distribution,
    Jumping,
    NextCategory,
    Normal,
)
from oocdm.envs.generated.mechanisms import AbstractMechanism
from oocdm.envs.generated.pilot import Pilot
from oocdm.envs.generated.removal import Regression, Removal, remove
from oocdm.envs.generated.source import Source, read

WIDTHS = (0.0, 0.2, 0.5, 1.0)  # of kernels around draws, in their spreads
LEAST = 1e-9  # a probability
RARE = 1e-3  # the share of a wider distribution beside draws


@dataclass(frozen=True)
class Worth:
    """Nats per number that a source adds to what all else tells of its target.

    `error` is the standard error of the simulation.

    >>> print(Worth(0.125, 0.004))
    0.125 +- 0.004 nats
    """

    nats: float
    error: float

    def __str__(self) -> str:
        return f"{self.nats:.3g} +- {self.error:.1g} nats"


@dataclass(frozen=True)
class Effort:
    """How much simulation goes into an estimate."""

    num_draws: int = 32
    num_waves: int = 64
    max_values: int = 1_500_000  # that a mechanism reads of a source, over all draws
    max_moments: int = 6_000


FULL = Effort()
QUICK = Effort(num_draws=8, num_waves=0, max_values=100_000, max_moments=500)


def edge_worth(
    blueprint: Blueprint,
    mechanism: AbstractMechanism,
    source: Source,
    pilot: Pilot,
    blur: np.ndarray | float,
    rng: np.random.Generator,
    effort: Effort,
) -> Worth:
    """The true log-likelihood less that of the best predictor without the edge, by simulation.

    The best predictor without an edge knows all else that is logged at that step. It is
    approximated in two ways, of which the better one counts. One draws the source given all else
    (see `remove`), and averages the true density over the draws. The other predicts the mean (or
    the probabilities) from all else by regression. What either predicts is a density, so in
    expectation the estimate is never below the true worth. It is above it where a source follows
    from other fields in a way that a regression on means and squares does not see, where its
    residuals depend on the other fields, and, of vectors, where components are uncertain
    together: each is scored on its own.
    """
    removal = removal_of(blueprint, mechanism.own.class_name, source, pilot, rng, effort)
    return worth_without(blueprint, mechanism, removal, blur, rng)


def removal_of(
    blueprint: Blueprint,
    target_class: str,
    source: Source,
    pilot: Pilot,
    rng: np.random.Generator,
    effort: Effort,
) -> Removal:
    """Half of the moments teach how a source follows from all else, in others it is drawn."""
    others = 1 if source.is_local else blueprint.max_objects[source.class_name]
    each = blueprint.max_objects[target_class] * others * effort.num_draws
    half = min(pilot.size // 2, effort.max_moments, max(effort.max_values // each, 200))
    fit, judged = pilot.select(slice(half)), pilot.select(slice(half, 2 * half))
    return remove(
        blueprint.schema,
        fit.before,
        judged.before,
        source,
        target_class,
        effort.num_draws,
        rng,
        effort.num_waves,
    )


def worth_without(
    blueprint: Blueprint,
    mechanism: AbstractMechanism,
    removal: Removal,
    blur: np.ndarray | float,
    rng: np.random.Generator,
) -> Worth:
    """What the removed source is worth to a mechanism."""
    name, before = mechanism.own.class_name, removal.before
    field = blueprint.schema.field(*mechanism.own[:2])
    shape = (*before.present[name].shape, *field.shape)
    inputs = {s: read(before, s, name) for s in mechanism.sources}
    counts = inputs[removal.source][1]
    truth = mechanism.distribution(inputs, shape)
    drawn = [
        mechanism.distribution({**inputs, removal.source: (values, counts)}, shape)
        for values in removal.drawn
    ]
    known = blueprint.distribution_of(mechanism, removal.fit)
    if isinstance(truth, Choice | NextCategory):
        losses = _choice_losses(truth, drawn, known, removal, name, rng)
    else:
        values = truth.sample(rng) + blur * rng.standard_normal(shape)
        if isinstance(known, Normal | Jumping):
            wide = _regressed(known, removal, name, rng).log_prob(values, blur)
        else:
            wide = _pooled(drawn).log_prob(values, blur)
        # What no draw allows is still possible: a little of a wider distribution is mixed in.
        scores = chain(
            (_mixed(score, wide) for score in _number_scores(values, drawn, blur)), [wide]
        )
        best = truth.log_prob(values, blur)
        losses = (best - score for score in scores)
    return min((_mean(loss, before.present[name]) for loss in losses), key=lambda w: w.nats)


def _mean(loss: np.ndarray, present: np.ndarray) -> Worth:
    """The mean over objects, with the standard error that independent moments have."""
    loss = np.where(present, loss.reshape(*present.shape, -1).mean(-1), 0)
    total, number = loss.sum(1), present.sum(1)
    mean = total.sum() / number.sum()
    error = np.sqrt(np.mean((total - mean * number) ** 2) / len(total)) / number.mean()
    return Worth(max(float(mean), 0.0), float(error))


def _number_scores(
    values: np.ndarray, drawn: list[Distribution], blur: np.ndarray | float
) -> Iterator[np.ndarray]:
    """Log-densities of numbers, averaged over draws; also with kernels around these."""
    each = [d for d in drawn if isinstance(d, Normal | Jumping)]
    if not each:
        yield _averaged([d.log_prob(values, blur) for d in drawn])
        return
    spread = np.std([d.mean for d in each], axis=0)
    for width in WIDTHS:
        kernels = (replace(d, sd=np.hypot(d.sd, width * spread)) for d in each)
        yield _averaged([d.log_prob(values, blur) for d in kernels])


def _mixed(score: np.ndarray, wide: np.ndarray) -> np.ndarray:
    return np.logaddexp(score + np.log1p(-RARE), wide + np.log(RARE))


def _pooled(drawn: list[Distribution]) -> Counts:
    """Poisson numbers with the mean of all draws."""
    counts = [d for d in drawn if isinstance(d, Counts)]
    mean = np.mean([d.least + d.rate for d in counts], axis=0)
    return Counts(np.zeros_like(counts[0].least), mean)


def _averaged(scores: list[np.ndarray]) -> np.ndarray:
    return np.asarray(logsumexp(np.stack(scores), axis=0) - np.log(len(scores)))


def _regressed(
    known: Normal | Jumping, removal: Removal, name: str, rng: np.random.Generator
) -> Normal | Jumping:
    """What a regression of the mean on all else predicts."""
    present = removal.fit.present[name]
    means = known.mean[present].astype(np.float64)
    fit, judged = removal.features
    model = Regression(fit[present], means.reshape(len(means), -1), removal.num_waves, rng)
    rest = means - model.predict(fit[present]).reshape(means.shape)
    guess = model.predict(judged).reshape(*judged.shape[:2], *means.shape[1:])
    return replace(known, mean=guess, sd=np.hypot(known.sd, rest.std(0)))


def _choice_losses(
    truth: Choice | NextCategory,
    drawn: list[Distribution],
    known: Distribution,
    removal: Removal,
    name: str,
    rng: np.random.Generator,
) -> Iterator[np.ndarray]:
    """Divergences of the probabilities that are left without the source from the true ones."""
    true = truth.probabilities
    each = [d.probabilities for d in [known, *drawn] if isinstance(d, Choice | NextCategory)]
    yield _divergence(true, np.mean(each[1:], axis=0))
    present = removal.fit.present[name]
    fit, judged = removal.features
    model = Regression(fit[present], each[0][present], removal.num_waves, rng)
    guess = np.clip(model.predict(judged), 1e-3, 1)
    yield _divergence(true, guess / guess.sum(-1, keepdims=True))


def _divergence(true: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.asarray((xlogy(true, true) - xlogy(true, np.maximum(other, LEAST))).sum(-1))
