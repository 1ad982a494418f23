"""Where good action sequences are believed to lie: a distribution over sequences of actions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from oocdm.planning.actions import ActionVariables

# The largest number below 1 in double precision: a uniform number must not reach 1.
_BELOW_ONE = 1 - 2**-53


@dataclass(frozen=True)
class Belief:
    """Independent distributions of all variables at all steps of the horizon.

    Numbers have `mean` and `sd` (horizon, number); choices have `probabilities`
    (horizon, choice, value), 0 beyond the values that a choice has.

    >>> from oocdm.data.snapshot import Snapshot
    >>> from oocdm.schema import ObjectClass, Integer, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     hop = Integer(0, 8, action=True)
    >>> state = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(1, 1)}})
    >>> belief = Belief.initial(ActionVariables.of(state), horizon=2)
    >>> belief.mean.tolist(), belief.sd.tolist()
    ([[4.0], [4.0]], [[2.0], [2.0]])
    >>> belief.sample(torch.tensor([[[0.1], [9.0]]])).tolist()
    [[[4.0], [8.0]]]
    """

    variables: ActionVariables
    mean: Tensor
    sd: Tensor
    probabilities: Tensor

    @staticmethod
    def initial(variables: ActionVariables, horizon: int) -> Belief:
        """Nothing known: the middle and a quarter of the range, equal probabilities.

        A number that is open at an end starts at 0, or at the allowed value next to 0, with its
        usual size as sd.
        """
        low, high = variables.low, variables.high
        is_bounded = (high - low).isfinite()
        nearest = torch.zeros_like(low).clamp(low, high)
        mean = torch.where(is_bounded, (low + high) / 2, nearest)
        sd = torch.where(is_bounded, (high - low) / 4, variables.size)
        codes = torch.arange(variables.max_values, device=low.device)
        allowed = (codes < variables.num_values.unsqueeze(-1)).float()
        probabilities = allowed / variables.num_values.unsqueeze(-1)
        return Belief(
            variables,
            mean.expand(horizon, -1),
            sd.expand(horizon, -1),
            probabilities.expand(horizon, -1, -1),
        )

    @property
    def horizon(self) -> int:
        """How many steps the sequences have."""
        return len(self.mean)

    def sample(self, noise: Tensor) -> Tensor:
        """Sequences (sample, horizon, variable) from standard normals of the same shape."""
        n = self.variables.num_numbers
        numbers = self._to_domain(self.mean + self.sd * noise[..., :n])
        # A choice is the value into whose share of [0, 1] a uniform number falls. Made from
        # normals, it takes on whatever correlation over time the noise has. In double precision,
        # since the last bit of this function may depend on the size of the batch.
        uniform = torch.special.ndtr(noise[..., n:].double()).clamp(max=_BELOW_ONE)
        return torch.cat([numbers, self._choose(uniform)], -1)

    def mode(self) -> Tensor:
        """The sequence (horizon, variable) of means and of the most probable values."""
        if self.variables.num_choices == 0:
            return self._to_domain(self.mean)
        return torch.cat([self._to_domain(self.mean), self.probabilities.argmax(-1).float()], -1)

    def refit(self, sequences: Tensor, weights: Tensor, smoothing: float = 0.0) -> Belief:
        """The belief of greatest weighted likelihood, mixed with a share of this one.

        `sequences` are (sample, horizon, variable), `weights` (sample, batch) their weights in
        each world, of any sum.
        """
        n = self.variables.num_numbers
        # Sums in double precision hide that their order may depend on the size of the batch;
        # divided only at the end, those of equal weights are even exact.
        weight = weights.double()[:, self.variables.world].unsqueeze(1)
        total = weight.sum(0)
        numbers = sequences[..., :n].double()
        mean = (weight[..., :n] * numbers).sum(0) / total[..., :n]
        variance = (weight[..., :n] * (numbers - mean).square()).sum(0) / total[..., :n]
        codes = sequences[..., n:].long().permute(1, 2, 0)
        share = weight[..., n:].expand(-1, self.horizon, -1).permute(1, 2, 0)
        counted = torch.zeros_like(self.probabilities, dtype=torch.float64)
        counted = counted.scatter_add(-1, codes, share) / total[..., n:].unsqueeze(-1)
        found = Belief(self.variables, mean.float(), variance.sqrt().float(), counted.float())
        return found._mix(self, smoothing) if smoothing else found

    def widen(self, initial: Belief, share: float) -> Belief:
        """The belief with its doubts restored: means stay, spreads are the initial ones.

        Choices have no spread beside their probabilities, so a `share` of these is the initial's.
        """
        return replace(self._mix(initial, share), mean=self.mean, sd=initial.sd)

    def _mix(self, other: Belief, share: float) -> Belief:
        # Not `lerp`, the last bit of which may depend on the size of the batch.
        return Belief(
            self.variables,
            (1 - share) * self.mean + share * other.mean,
            (1 - share) * self.sd + share * other.sd,
            (1 - share) * self.probabilities + share * other.probabilities,
        )

    def _to_domain(self, numbers: Tensor) -> Tensor:
        whole = torch.where(self.variables.is_whole, numbers.round(), numbers)
        return whole.clamp(self.variables.low, self.variables.high)

    def _choose(self, uniform: Tensor) -> Tensor:
        if self.variables.num_choices == 0:
            return uniform.float()
        shares = self.probabilities.double().cumsum(-1)
        # Divided by the last one, which then is exactly 1 and above every uniform number: values
        # of probability 0 are never chosen.
        shares = shares / shares[..., -1:]
        codes = torch.searchsorted(shares, uniform.permute(1, 2, 0).contiguous(), right=True)
        return codes.permute(2, 0, 1).float()
