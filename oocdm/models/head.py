"""From the outputs of networks to distributions: units, bounds and floors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from oocdm.errors import ModelError
from oocdm.models.prediction import ClassPrediction, WidePart
from oocdm.models.scales import ClassScales, Scales
from oocdm.reading import Positive, check_fields
from oocdm.schema import Field, Schema

PAPER_SIGMA_FLOOR = 1e-5  # in raw units, whatever they are
SIGMA_SHARE = 1e-5  # of a field's usual change: the floor of its sigma where none is given
# Of the wide part of a mixture. However many transitions had no surprise, the next one may.
CHANCE_FLOOR = 1e-4
FIRST_LOG_ODDS = -4.5  # of its chance before anything is learned: one in ninety
FIRST_WIDTH = 0.54  # of which softplus is 1: its sigma is then that much larger, in units


@dataclass(frozen=True)
class HeadOptions:
    """How numbers from a network become distributions.

    >>> HeadOptions().predict_change
    True
    """

    predict_change: bool = True  # where V -> V' is an edge, predict the change of V
    clamp_means: bool = True  # bounded means are cut off; otherwise squashed by tanh or softplus
    sigma_floor: Positive | None = None  # added to every sigma, in raw units; None: SIGMA_SHARE

    def __post_init__(self) -> None:
        check_fields(self, "head", ModelError)


class Head(nn.Module):
    """The distributions of all targets of one class.

    `calibrated_sigma` is what `calibrate_sigma` finds on held-out data, beside the floor that the
    options set, and `calibrated_share` what it leaves of a mixture's narrow sigma. `is_mixture`
    says which targets are mixtures: all that may be, until it is chosen. Where no target may,
    there are no outputs for it.
    """

    low: Tensor
    high: Tensor
    calibrated_sigma: Tensor
    calibrated_share: Tensor
    is_mixture: Tensor

    def __init__(self, schema: Schema, c: str, scales: Scales, options: HeadOptions) -> None:
        super().__init__()
        self.options = options
        self.scales = ClassScales(schema, c, scales)
        self.targets: dict[str, Field] = {v: schema.field(c, v) for v in schema.targets(c)}
        # As wide for some targets as for all that a class could have: they share weights.
        self._states = [field for field in schema.fields(c).values() if field.is_target]
        self.width = max((field.size for field in self._states), default=1)
        self._rows = [list(schema.fields(c)).index(v) for v in self.targets]
        for name, sign in (("low", -1.0), ("high", 1.0)):
            bounds = [_bound_of(field, name, sign) for field in self.targets.values()]
            tensor = torch.tensor(bounds, dtype=torch.float32).view(-1, 1)
            self.register_buffer(name, tensor, persistent=False)
        self.register_buffer("calibrated_sigma", torch.zeros(len(self._rows), self.width))
        self.register_buffer("calibrated_share", torch.ones(len(self._rows), self.width))
        self.may_mix = [field.may_be_mixture for field in self.targets.values()]
        self.register_buffer("is_mixture", torch.tensor(self.may_mix, dtype=torch.bool))

    @property
    def num_outputs(self) -> int:
        """How many numbers a network must give for a target."""
        choices = [f.size * f.num_codes for f in self._states if f.is_choice]
        may_mix = any(field.may_be_mixture for field in self._states)
        return max([(5 if may_mix else 2) * self.width, *choices])

    @property
    def has_auto(self) -> bool:
        """Whether it is left to data which of the targets are mixtures."""
        return bool(self.is_mixture[self._is_auto].any())

    def choose(self, is_mixture: Tensor) -> None:
        """Say which of the targets that are left to data are mixtures, by a flag for each."""
        chosen = is_mixture.to(self.is_mixture.device)
        is_auto = torch.tensor(self._is_auto, dtype=torch.bool, device=chosen.device)
        self.is_mixture &= chosen | ~is_auto

    @property
    def _is_auto(self) -> list[bool]:
        return [field.likelihood == "auto" for field in self.targets.values()]

    @property
    def num_linear_outputs(self) -> int:
        """How many numbers a linear map must give for a target."""
        choices = [f.size * f.num_codes for f in self._states if f.is_choice]
        return max([2 * self.width, *choices])

    def num_linear(self, v: str) -> int:
        """How many outputs of a linear map the head reads for a target."""
        field = self.targets[v]
        if self._mixes(v):
            return self.width + field.size
        return field.size * (field.num_codes if field.is_choice else 1)

    def _mixes(self, v: str) -> bool:
        return bool(self.is_mixture[list(self.targets).index(v)])

    def spread(self, name: str) -> Tensor:
        """One kind of scale of all targets, such as `change_sd`: (target, component)."""
        scales: Tensor = getattr(self.scales, name)
        return scales[self._rows, : self.width]

    def usual_change(self) -> Tensor:
        """The spread of each target's change; of its value, if it never changes."""
        change = self.spread("change_sd")
        return torch.where(change > 0, change, self.spread("value_sd"))

    def forward(
        self, out: Tensor, linear: Tensor | None, values: Tensor, known: Tensor, has_self: Tensor
    ) -> ClassPrediction:
        """Distributions from outputs of a network and of a linear map beside it.

        `out` and `linear` are (batch, object, target, output), `values` and `known` what the
        targets are now, `has_self` (batch or 1, object or 1, target): is V -> V' an edge?
        """
        value_mean, value_sd = self.spread("value_mean"), self.spread("value_sd")
        if self.options.predict_change:
            # There is no change of what is not known: then the value itself is predicted.
            # An edge that is still being learned may be there in part; lerp is exact at both ends.
            share = (has_self * known).unsqueeze(-1)
            unit = torch.lerp(value_sd, self.spread("change_sd"), share)
            centre = torch.lerp(value_mean, values + self.spread("change_mean"), share)
        else:
            unit, centre = value_sd, value_mean
        means, sigmas = out[..., : self.width], out[..., self.width : 2 * self.width]
        free_mean = torch.addcmul(centre, unit, means)
        if linear is not None:
            unit_of_linear = _linear_unit(unit, value_sd)
            free_mean = torch.addcmul(free_mean, unit_of_linear, linear[..., : self.width])
        mean = self._bound(free_mean, self.low, self.high)
        sigma = self._sigma(
            sigmas, unit, self._floor(), self.calibrated_share, self.calibrated_sigma
        )
        logits = {}
        for i, (v, field) in enumerate(self.targets.items()):
            if field.is_choice:
                n = field.size * field.num_codes
                chosen = out[:, :, i, :n]
                if linear is not None:
                    chosen = chosen + linear[:, :, i, :n]
                logits[v] = chosen.unflatten(-1, (field.size, -1))
        if not self.is_mixture.any():
            return ClassPrediction(mean, sigma, logits)
        wide_mean, wide_sigma, chance = _wide(
            free_mean,
            sigma,
            unit,
            out[..., 2 * self.width : 5 * self.width],
            None if linear is None else unit_of_linear * linear[..., self.width : 2 * self.width],
        )
        wide_mean = self._bound(wide_mean, self.low, self.high)
        wide = WidePart(wide_mean, wide_sigma, chance, self.is_mixture)
        return ClassPrediction(mean, sigma, logits, wide)

    def of_target(self, v: str, has_self: bool) -> Callable[..., tuple[Tensor, ...]]:
        """The head of one target all of whose values are known, for rows of outputs.

        Called with outputs, (row, output), perhaps linear ones, as many as `num_linear` says, and
        what the target is now, (row, component), it gives mean and sigma, of mixtures also mean,
        sigma and chance of the wide part, of choices the logits alone.
        """
        i, field = list(self.targets).index(v), self.targets[v]
        if field.is_choice:
            n = field.size * field.num_codes
            return lambda out, linear, now: (
                out[:, :n] if linear is None else out[:, :n] + linear[:, :n],
            )
        scale, size = self.scales.of(v), field.size
        adds_own = self.options.predict_change and has_self
        unit = scale.change_sd if adds_own else scale.value_sd
        centre = scale.change_mean if adds_own else scale.value_mean
        unit_of_linear = _linear_unit(unit, scale.value_sd)
        is_bounded = bool(self.low[i].isfinite() | self.high[i].isfinite())
        low, high = self.low[i], self.high[i]
        floor, share = self._floor()[i, :size], self.calibrated_share[i, :size]
        calibrated = self.calibrated_sigma[i, :size]
        width, mixes = self.width, self._mixes(v)

        def finish(out: Tensor, linear: Tensor | None, now: Tensor) -> tuple[Tensor, ...]:
            mean = torch.addcmul(now + centre if adds_own else centre, unit, out[:, :size])
            if linear is not None:
                mean.addcmul_(unit_of_linear, linear[:, :size] if mixes else linear)
            free_mean, mean = mean, self._bound(mean, low, high) if is_bounded else mean
            sigma = self._sigma(out[:, width : width + size], unit, floor, share, calibrated)
            if not mixes:
                return mean, sigma
            raw = out[:, 2 * width : 5 * width].unflatten(1, (3, width))[..., :size].flatten(1)
            added = None if linear is None else unit_of_linear * linear[:, width:]
            wide_mean, wide_sigma, chance = _wide(free_mean, sigma, unit, raw, added)
            wide_mean = self._bound(wide_mean, low, high) if is_bounded else wide_mean
            return mean, sigma, wide_mean, wide_sigma, chance

        return finish

    def _floor(self) -> Tensor:
        """What is added to every sigma: (target, component)."""
        usual, given = self.usual_change(), self.options.sigma_floor
        return SIGMA_SHARE * usual if given is None else torch.full_like(usual, given)

    @staticmethod
    def _sigma(
        raw: Tensor, unit: Tensor, floor: Tensor, share: Tensor, calibrated: Tensor
    ) -> Tensor:
        return torch.hypot(share * (unit * functional.softplus(raw) + floor), calibrated)

    def _bound(self, mean: Tensor, low: Tensor, high: Tensor) -> Tensor:
        if self.options.clamp_means:
            if not torch.is_grad_enabled():
                return mean.clamp(low, high)
            cut: Tensor = _Cut.apply(mean, low, high)
            return cut
        has_low, has_high = low.isfinite(), high.isfinite()
        # Infinite bounds are replaced before use: their branch is not taken, its gradient is.
        a, b = torch.where(has_low, low, 0.0), torch.where(has_high, high, 0.0)
        middle, half = (a + b) / 2, (b - a) / 2
        both = middle + half * torch.tanh(mean)
        one = torch.where(has_low, a + functional.softplus(mean), b - functional.softplus(-mean))
        bounded = torch.where(has_low & has_high, both, one)
        return torch.where(has_low | has_high, bounded, mean)


def _linear_unit(unit: Tensor, value_sd: Tensor) -> Tensor:
    """The unit of linear maps, whose inputs are in units of the value.

    A weight of order 1 must be able to move the mean by much more than the spread of the change,
    yet not drown a change that is tiny.
    """
    return (unit * value_sd).sqrt()


def _wide(
    mean: Tensor, sigma: Tensor, unit: Tensor, raw: Tensor, added: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, sigma and chance of wide parts, from those of narrow ones and a third each of `raw`.

    A surprise is likely to come on top of what was to happen, and is never narrower than that. So
    what is learned of the one serves the other, and cases that are hard to predict still teach
    the narrow mean while the wide part accounts for them.
    """
    means, sigmas, log_odds = raw.chunk(3, dim=-1)
    mean = torch.addcmul(mean, unit, means)
    mean = mean if added is None else mean + added
    sigma = torch.addcmul(sigma, unit, functional.softplus(sigmas + FIRST_WIDTH))
    chance = torch.sigmoid(log_odds + FIRST_LOG_ODDS)
    return mean, sigma, CHANCE_FLOOR + (1 - 2 * CHANCE_FLOOR) * chance


def _bound_of(field: Field, name: str, sign: float) -> float:
    if field.kind == "boolean":
        return sign
    bound: float | None = getattr(field, name)
    return sign * torch.inf if bound is None else bound


class _Cut(torch.autograd.Function):
    """Means cut off at bounds; beyond them gradients still pass that lead back.

    Without those a field whose means have all left its bounds would never be learned again.
    """

    @staticmethod
    def forward(ctx: Any, mean: Tensor, low: Tensor, high: Tensor) -> Tensor:
        ctx.save_for_backward(mean, low, high)
        return torch.maximum(torch.minimum(mean, high), low)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        mean, low, high = ctx.saved_tensors
        leads_out = ((mean > high) & (gradient < 0)) | ((mean < low) & (gradient > 0))
        return gradient.masked_fill(leads_out, 0.0), None, None
