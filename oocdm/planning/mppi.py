"""Model predictive path integral control: a mean of sequences weighted by what they earn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, final

from oocdm.planning.planner import Found, Planner, Problem
from oocdm.reading import Range

EXPLORED = 0.1  # the share of the first probabilities that choices keep, as numbers their spread


@final
@dataclass(frozen=True, kw_only=True)
class MPPI(Planner):
    """Weights exp(return / `temperature`) of all samples move the mean; its spread stays.

    Of a categorical or boolean action the weighted probabilities are kept, with a tenth of those
    at the start so that no value is lost, and the most probable value is chosen. `temperature` is
    in units of the return: the lower, the greedier.

    >>> MPPI(temperature=0.5).temperature
    0.5
    """

    temperature: Annotated[
        float,
        Range(above=0, at_most=1e30),
        "It is in units of the return: a difference that large weighs e times as much.",
    ] = 1.0

    def _search(self, problem: Problem) -> Found:
        belief = problem.start
        for _ in range(self.iterations):
            sequences = problem.sample(belief, self.samples)
            returns = problem.returns(sequences)
            # Less than the best one, since a low temperature would turn returns into infinities.
            weights = ((returns - returns.amax(0)) / self.temperature).softmax(0)
            belief = belief.refit(sequences, weights).widen(problem.start, EXPLORED)
        chosen = belief.mode()
        value = problem.returns(chosen.unsqueeze(0)).squeeze(0)
        return Found(chosen, value, belief, sequences[:0])
