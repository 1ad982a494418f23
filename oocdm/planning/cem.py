"""The cross-entropy method, the paper's Algorithm 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, final

import torch

from oocdm.planning.planner import Elites, Found, Planner, Problem
from oocdm.reading import Probability


@final
@dataclass(frozen=True, kw_only=True)
class CEM(Planner):
    """Sample, fit to the best `elites`, repeat; the last iteration's best sequence is chosen.

    A share `smoothing` of each belief is kept in the next one. The defaults are the paper's
    numbers; its Algorithm 3 also has `stop_at_termination=False` and starts every plan afresh.

    >>> from oocdm.data.snapshot import Snapshot
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(-1.0, 1.0, action=True)
    >>> class Pushing:
    ...     schema = Schema(Ball)
    ...     def step(self, before, seed):
    ...         x = before["Ball.x"] + before["Ball.push"]
    ...         return Snapshot.of(self.schema, {"Ball": {"x": x}}, before.present)
    ...     def reward(self, before, after):
    ...         return -(after["Ball.x"] - 0.5).square().sum(1)
    ...     def terminated(self, after):
    ...         return after["Ball.x"].amax(1) > 9
    >>> state = Snapshot.of(Pushing.schema, {"Ball": {"x": torch.zeros(1, 1)}})
    >>> generator = torch.Generator().manual_seed(0)
    >>> plan = CEM(horizon=2, samples=100, elites=10).plan(Pushing(), state, generator=generator)
    >>> round(float(plan.actions["Ball"]["push"]), 1)
    0.5
    """

    elites: Elites = 100
    smoothing: Annotated[Probability, "It is how much of a belief is kept in the next one."] = 0.0

    def _check_options(self) -> None:
        self._check_elites(self.elites)

    def _search(self, problem: Problem) -> Found:
        belief = problem.start
        for _ in range(self.iterations):
            sequences = problem.sample(belief, self.samples)
            returns = problem.returns(sequences)
            elites = problem.best(sequences, returns, self.elites)
            # After the last iteration this serves only a plan that starts from it.
            weights = torch.ones_like(returns[: self.elites])
            belief = belief.refit(elites, weights, self.smoothing)
        return Found(elites[0], returns.amax(0), belief, elites[:0])
