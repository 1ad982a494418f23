"""What a plan leaves for the plan of the next step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from oocdm.errors import PlanError
from oocdm.planning.actions import ActionVariables, Grids
from oocdm.planning.beliefs import Belief


@dataclass(frozen=True)
class WarmStart:
    """The belief that a plan ended with, and its best sequences (sample, horizon, variable).

    One step later all of it has moved forward by a step, and objects may have come or gone: what
    a variable is now is found by its place in the `grids`, and new ones start afresh.

    >>> from oocdm.data.snapshot import Snapshot
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(action=True)
    >>> state = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(1, 1)}})
    >>> variables = ActionVariables.of(state)
    >>> initial = Belief.initial(variables, horizon=3)
    >>> mean = torch.tensor([[1.0], [2.0], [3.0]])
    >>> belief = Belief(variables, mean, initial.sd, initial.probabilities)
    >>> warm = WarmStart(variables.grids, belief, torch.zeros(0, 3, 1))
    >>> warm.belief_for(initial).mean.tolist()
    [[2.0], [3.0], [0.0]]
    """

    grids: Grids
    belief: Belief
    elites: Tensor

    @property
    def batch_size(self) -> int:
        """Number of worlds."""
        return len(next(iter(self.grids.values())))

    def select(self, worlds: Tensor) -> WarmStart:
        """That of some of the worlds; a -1 stands for a world of which nothing is known."""
        rows = worlds.to(self.belief.mean.device)
        is_known = (rows >= 0).reshape(-1, 1, 1)
        return replace(
            self, grids={k: g[rows].masked_fill(~is_known, -1) for k, g in self.grids.items()}
        )

    def belief_for(self, initial: Belief) -> Belief:
        """The belief a step later, about the variables of an initial one."""
        source, old = self._source(initial), self.belief
        n, choices = initial.variables.num_numbers, source[initial.variables.num_numbers :]
        choices = torch.where(choices >= 0, choices - old.variables.num_numbers, -1)
        return Belief(
            initial.variables,
            _shift(old.mean, source[:n], initial.mean),
            _shift(old.sd, source[:n], initial.sd),
            _shift(old.probabilities.mT, choices, initial.probabilities.mT).mT,
        )

    def elites_for(self, initial: Belief, fresh: Tensor) -> Tensor:
        """The best sequences a step later; what they do not say is taken from fresh samples."""
        known = self.elites[: len(fresh)]
        later = _shift(known, self._source(initial), fresh[: len(known)], dim=1)
        return torch.cat([later, fresh[len(known) :]])

    def _source(self, initial: Belief) -> Tensor:
        """For each variable of the initial belief its number here, -1 if it is new."""
        variables = initial.variables
        self._check(variables, initial.horizon)
        source = torch.full_like(variables.world, -1)
        for key, grid in variables.grids.items():
            rows = min(grid.shape[1], self.grids[key].shape[1])
            now, then = grid[:, :rows], self.grids[key][:, :rows]
            source[now[now >= 0]] = then[now >= 0]
        return source

    def _check(self, variables: ActionVariables, horizon: int) -> None:
        old = self.belief
        for expected, got in (
            (f"{variables.batch_size} worlds", f"{self.batch_size} worlds"),
            (f"{horizon} steps", f"{old.horizon} steps"),
            (repr(variables.schema), repr(old.variables.schema)),
        ):
            if expected != got:
                raise PlanError(
                    f"warm: expected a plan of {expected}, got one of {got}. Give the `warm` of "
                    "the plan made one step earlier by the same planner, or None."
                )


def _shift(old: Tensor, source: Tensor, new: Tensor, dim: int = 0) -> Tensor:
    """Old values a step later where there is a source; new values elsewhere and at the end."""
    padded = torch.cat([old, old.new_zeros(*old.shape[:-1], 1)], -1)[..., source]
    later, steps = padded.narrow(dim, 1, new.shape[dim] - 1), new.shape[dim]
    kept = torch.where(source >= 0, later, new.narrow(dim, 0, steps - 1))
    return torch.cat([kept, new.narrow(dim, steps - 1, 1)], dim)
