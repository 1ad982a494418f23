"""The improved cross-entropy method (Pinneri et al., 2020): good plans from fewer samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, final

import torch
from torch import Tensor

from oocdm.planning.noise import colour_matrix
from oocdm.planning.planner import Elites, Found, Planner, Problem
from oocdm.reading import Probability, Range


@final
@dataclass(frozen=True, kw_only=True)
class ICEM(Planner):
    """CEM with noise correlated over time, memory of good sequences, and fewer and fewer samples.

    `noise_beta` is the exponent of the noise's spectrum (0 white, 2 a random walk). A share
    `keep` of the elites is tried again in the next iteration and, moved by one step, in the next
    plan. The number of samples is divided by `decay` after each iteration, down to twice the
    elites. A share `smoothing` of each belief is kept in the next one, and the last iteration
    tries the belief's mean, too.

    >>> ICEM(samples=300, elites=20, decay=1.5).sample_counts()
    [300, 200, 133, 89, 59]
    """

    elites: Elites = 50
    noise_beta: Annotated[
        float, Range(at_least=0, at_most=100), "0 is white noise, 2 a random walk."
    ] = 2.0
    keep: Annotated[Probability, "It is how many of the elites are tried again."] = 0.3
    decay: Annotated[
        float,
        Range(at_least=1, at_most=10**6),
        "It is what the samples of an iteration are divided by.",
    ] = 1.25
    smoothing: Annotated[Probability, "It is how much of a belief is kept in the next one."] = 0.1

    def _check_options(self) -> None:
        self._check_elites(self.elites)

    def sample_counts(self) -> list[int]:
        """How many sequences each iteration draws."""
        least = min(2 * self.elites, self.samples)
        return [max(least, round(self.samples / self.decay**i)) for i in range(self.iterations)]

    @property
    def _most_sequences(self) -> int:
        return self.samples + self._num_kept + 1

    def _search(self, problem: Problem) -> Found:
        belief, colour = problem.start, colour_matrix(self.horizon, self.noise_beta)
        kept = self._remembered(problem, colour)
        for i, samples in enumerate(self.sample_counts()):
            tried = [problem.sample(belief, samples, colour), kept]
            if i + 1 == self.iterations:
                tried.append(belief.mode().unsqueeze(0))
            sequences = torch.cat(tried)
            returns = problem.returns(sequences)
            elites = problem.best(sequences, returns, self.elites)
            kept = elites[: self._num_kept]
            weights = torch.ones_like(returns[: self.elites])
            belief = belief.refit(elites, weights, self.smoothing)
        return Found(elites[0], returns.amax(0), belief, kept)

    @property
    def _num_kept(self) -> int:
        return math.ceil(self.keep * self.elites)

    def _remembered(self, problem: Problem, colour: Tensor) -> Tensor:
        """The good sequences of the plans before, as they look one step later.

        Where there are none new ones take their place, so that no world makes another one draw.
        """
        kept = problem.sample(problem.start, self._num_kept, colour)
        for warm in problem.warm:
            kept = warm.elites_for(problem.start, kept)
        return kept
