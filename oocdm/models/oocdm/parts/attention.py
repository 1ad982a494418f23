"""Key-value attention over all other objects, the paper's way of gathering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from oocdm.models.initial import xavier
from oocdm.models.named import ParametersByName
from oocdm.models.oocdm.masks import Masks, masked
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts.attend import attend, closed
from oocdm.models.oocdm.parts.local import Local
from oocdm.models.oocdm.parts.part import (
    AbstractGathered,
    Gather,
    GatherNeighbours,
    Place,
    Seen,
    SeenByTarget,
)
from oocdm.models.oocdm.turns import Turns, repeat


@dataclass(frozen=True)
class Attended:
    """Keys and values of one class of sources under some structures."""

    weight: Tensor | None  # (structure, input, [key, value] * target * dim); None: all alike
    bias: Tensor  # ([key, value], target, dim)
    is_read: np.ndarray  # (structure, target)


class Attention(AbstractGathered):
    """Attention of the target object, by its local encoding, over the others, in a few heads."""

    name: ClassVar[str] = "attention"
    is_path: ClassVar[bool] = False
    knows_receivers: ClassVar[bool] = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        s, d = place.num_targets, place.options.local_dim
        self.width = d
        local = place.earlier[Local.name]
        assert isinstance(local, Local)
        self._local = (local,)  # in a tuple: its weights are not this part's own
        self.weight = ParametersByName(
            {k: xavier(w, s, d, fan_in=w, fan_out=d) for k, w in place.widths.items()}
        )
        self.bias = ParametersByName({k: nn.Parameter(torch.zeros(s, d)) for k in place.widths})
        for name in ("query", "key", "value"):
            setattr(self, f"{name}_weight", xavier(s, d, d, fan_in=d, fan_out=d))
            setattr(self, f"{name}_bias", nn.Parameter(torch.zeros(s, d)))

    query_weight: Tensor
    query_bias: Tensor
    key_weight: Tensor
    key_bias: Tensor
    value_weight: Tensor
    value_bias: Tensor

    @classmethod
    def is_used(cls, options: ModelOptions) -> bool:
        return "attention" in options.aggregators

    def shared_input_weights(self) -> list[nn.Parameter]:
        return list(self.weight.parameters())

    @property
    def _heads(self) -> int:
        return self.place.options.heads

    # ---------------------------------------------------------------- literal

    def literal(self, i: int, seen: SeenByTarget) -> Tensor:
        local = self._local[0].literal(i, seen)
        query = local @ self.query_weight[i] + self.query_bias[i]
        keys, values, shifts = [], [], []
        for k, x in seen.others.items():
            code = x @ self.weight[k][:, i] + self.bias[k][i]
            keys.append(code @ self.key_weight[i] + self.key_bias[i])
            values.append(code @ self.value_weight[i] + self.value_bias[i])
            openness = self.openness_literally(i, k, seen)
            none = query.new_zeros(seen.allowed[k].shape)
            shifts.append(none if openness is None else openness.expand_as(none))
        query, key, value = (
            rows.unflatten(-1, (self._heads, -1)).transpose(1, 2)
            for rows in (query, torch.cat(keys, dim=1), torch.cat(values, dim=1))
        )
        is_source = torch.cat(list(seen.allowed.values()), dim=2).unsqueeze(1)
        scores = query @ key.transpose(-1, -2) / self.width**0.5
        scores = scores + torch.cat(shifts, dim=2).unsqueeze(1)
        # The lowest number instead of -inf: an object without sources must get 0, not NaN.
        scores = scores.masked_fill(~is_source, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=-1) * is_source
        return (weights @ value).transpose(1, 2).flatten(2)

    # ---------------------------------------------------------------- layers in a row made one

    def _query(self) -> tuple[Tensor, Tensor]:
        """From own encodings to queries: (input, target, dim) and (target, dim)."""
        local = self._local[0]
        both = torch.cat([local.weight, local.bias.unsqueeze(0)]).transpose(0, 1)
        query = torch.bmm(both, self.query_weight)
        return query[:, :-1].transpose(0, 1), query[:, -1] + self.query_bias

    def _keys_and_values(self, k: str) -> tuple[Tensor, Tensor]:
        """From encodings of others to keys and values: (input, target, 2 * dim), (target, ..)."""
        both = torch.cat([self.key_weight, self.value_weight], dim=-1)
        own_bias = torch.cat([self.key_bias, self.value_bias], dim=-1)
        weight = torch.bmm(self.weight[k].transpose(0, 1), both).transpose(0, 1)
        return weight, torch.bmm(self.bias[k].unsqueeze(1), both).squeeze(1) + own_bias

    # ---------------------------------------------------------------- under structures

    def compose(self, masks: Masks) -> Gather | None:
        sources = {
            k: self._attended(k, masks)
            for k in self.place.schema.classes
            if not self.place.options.skip_unrelated or masks.reads(k, self.c).any()
        }
        query_weight, query_bias = self._query()
        query_weight = masked(query_weight.unsqueeze(0), masks.local(self.c), self.num_free)

        def gather(seen: Seen) -> Tensor | None:
            keys, values, shifts = [], [], []
            for k, source in sources.items():
                if seen.inputs.present[k].shape[1] > 0:
                    key, value, shift = self._sources(k, source, masks, seen)
                    keys.append(key)
                    values.append(value)
                    shifts.append(shift)
            if not keys:
                return None
            query = _project(seen.own(self.c), query_weight, query_bias)
            return attend(
                query,
                _join(keys, (0,)),
                _join(values, (0,)),
                _join(shifts, (0, 1, 3)),
                self._heads,
            )

        return gather

    def _attended(self, k: str, masks: Masks) -> Attended:
        weight, bias = self._keys_and_values(k)
        is_read, mask = masks.reads(k, self.c), masks.others(k, self.c)
        used = None
        if is_read.any() or self.num_free:
            used = masked(_halves(weight).unsqueeze(0), mask, self.num_free)
        return Attended(used, _halves(bias), is_read)

    def _sources(
        self, k: str, source: Attended, masks: Masks, seen: Seen
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Keys and values of a class, and what is added to their scores."""
        dtype, is_source = source.bias.dtype, seen.inputs.others(k, self.c)
        if source.weight is None:
            # All objects look alike: they enter as one, its exponential times their number.
            key, value = source.bias[:, None, None]
            shift = is_source.sum(2, dtype=dtype).log().clamp(min=torch.finfo(dtype).min / 2)
            return key, value, shift[:, :, None, None]
        key, value = _project(seen.encoded[k], source.weight, source.bias).unbind(2)
        is_source = is_source.unsqueeze(3)
        if self.place.options.skip_unrelated:
            flags = torch.as_tensor(source.is_read, device=key.device)
            is_source = is_source & masks.spread(flags, seen.inputs.batch_size)[:, None, None]
        shift, openness = closed(is_source, dtype), self.openness(k, seen)
        return key, value, shift if openness is None else shift + openness

    # ---------------------------------------------------------------- around a structure

    def compose_neighbours(self, turns: Turns) -> GatherNeighbours:
        layers = {
            k: turns.contribute(k, *self._keys_and_values(k), self.num_free)
            for k in self.place.schema.classes
        }
        query_weight, query_bias = self._query()
        scale = self.width**-0.5
        query_weight = masked(scale * query_weight.unsqueeze(0), turns.own_masks(), self.num_free)
        query_bias = (scale * query_bias).reshape(1, 1, -1)

        def gather_all(seen: Seen) -> Tensor:
            x = seen.own(self.c)
            batch, n = x.shape[:2]
            targets, heads, channels = (
                self.place.num_targets,
                self._heads,
                self.width // self._heads,
            )
            query = torch.baddbmm(query_bias, repeat(x, len(query_weight)), query_weight)
            # (sample, target and head) first, so that the objects of one sample make one product
            query = query.view(len(query_weight), batch, n, targets, heads, channels)
            query = query.permute(1, 3, 4, 0, 2, 5).flatten(3, 4).flatten(0, 2)
            keys: list[Tensor] = []
            values: list[Tensor] = []
            at: dict[str, slice] = {}
            filled = {k: codes for k, codes in seen.encoded.items() if codes.shape[1] > 0}
            for k, codes in filled.items():
                both = layers[k].base(codes).view(*codes.shape[:2], targets, 2 * heads, channels)
                both = both.permute(0, 2, 3, 1, 4)  # (batch, target, key and value heads, r, ch)
                start = sum(key.shape[3] for key in keys)
                at[k] = slice(start, start + both.shape[3])
                keys.append(both[:, :, :heads])
                values.append(both[:, :, heads:])
            key, value = (torch.cat(t, dim=3).flatten(0, 2) for t in (keys, values))
            table = torch.bmm(query, key.transpose(1, 2))
            table = table.view(batch, targets * heads, len(query_weight), n, key.shape[1])
            for k, place in at.items():
                openness = self.openness(k, seen)
                if openness is not None:
                    shift = openness.permute(0, 3, 1, 2).repeat_interleave(heads, 1)
                    table[..., place] += shift.unsqueeze(2)
            is_source = torch.cat(
                [seen.inputs.others(k, self.c).expand(-1, n, -1) for k in at], dim=2
            )
            if not is_source.all():
                table.masked_fill_(~is_source[:, None, None], -torch.inf)
            variant = torch.as_tensor(turns.own_variant, device=x.device)
            scores = table.flatten(0, 1).index_select(1, variant)  # (sample.., structure, n, r)
            added_values = {}
            for k, turned in turns.turned.items():
                if k in filled:
                    delta = layers[k].added(filled[k])
                    delta = delta.view(*delta.shape[:3], targets, 2 * heads, channels)
                    delta = delta.permute(1, 3, 4, 0, 2, 5)  # (batch, target, heads, field, r, ch)
                    delta_keys, added_values[k] = (
                        t.flatten(0, 2) for t in (delta[:, :, :heads], delta[:, :, heads:])
                    )
                    product = torch.bmm(query[:, :n], delta_keys.flatten(1, 2).transpose(1, 2))
                    product = product.unflatten(2, delta_keys.shape[1:3]).transpose(1, 2)
                    scores[:, turned.at, :, at[k]] += product
            self._close(scores, at, turns.masks, batch)
            top = scores.amax(-1, keepdim=True).clamp_(min=torch.finfo(scores.dtype).min)
            weights = scores.sub_(top).exp_()
            total = weights.sum(-1, keepdim=True)
            weights.div_(total.add_(total == 0))
            attended = torch.bmm(weights.flatten(1, 2), value).unflatten(1, weights.shape[1:3])
            for k, delta in added_values.items():
                rows = turns.turned[k].at
                attended[:, rows] += torch.matmul(weights[:, rows, :, at[k]], delta)
            attended = attended.view(batch, targets, heads, *attended.shape[1:])
            return attended.permute(1, 3, 0, 4, 2, 5).flatten(4)

        return gather_all

    def _close(self, scores: Tensor, at: dict[str, slice], masks: Masks, batch: int) -> None:
        """Shut out the classes that a target does not read, where options say so."""
        if not self.place.options.skip_unrelated:
            return
        by_target = scores.view(batch, self.place.num_targets, self._heads, *scores.shape[1:])
        for k, place in at.items():
            is_closed = ~torch.as_tensor(masks.reads(k, self.c).T, device=scores.device)
            if is_closed.any():
                is_closed = is_closed[:, None, :, None, None]
                by_target[..., place].masked_fill_(is_closed, -torch.inf)


def _project(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A linear map of encoded objects, rows divided among structures: (batch, object, *bias)."""
    rows = x.reshape(len(weight), -1, x.shape[2])
    return torch.baddbmm(bias.reshape(1, 1, -1), rows, weight).view(*x.shape[:2], *bias.shape)


def _halves(both: Tensor) -> Tensor:
    """(..., target, key and value) -> (..., [key, value], target, dim)."""
    return both.unflatten(-1, (2, -1)).transpose(-2, -3)


def _join(tensors: list[Tensor], shared: tuple[int, ...]) -> Tensor:
    """Side by side along the source axis, after widening the shared axes of width 1."""
    if len(tensors) == 1:
        return tensors[0]
    # Not the largest: an empty batch is less than 1.
    sizes = {axis: [t.shape[axis] for t in tensors] for axis in shared}
    widest = {axis: next((n for n in found if n != 1), 1) for axis, found in sizes.items()}
    axis = 2 if 1 in shared else 1
    shapes = [[widest.get(i, n) for i, n in enumerate(t.shape)] for t in tensors]
    return torch.cat([t.expand(s) for t, s in zip(tensors, shapes, strict=True)], dim=axis)
