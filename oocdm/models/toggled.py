"""The same samples under a structure and under its neighbours, at the cost of a few.

A neighbour has one part of each target the other way round. A masked linear layer is a sum of
one contribution a field, so what a neighbour changes is one contribution more or less: the keys,
values and messages of all neighbours come from those of the structure itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from oocdm.models.composed import ComposedPredictor, masked
from oocdm.models.features import Inputs
from oocdm.models.network import AbstractClassModel
from oocdm.models.wiring import Wiring


@dataclass(frozen=True)
class Turned:
    """The neighbours that differ in a field of one class of sources."""

    rows: slice  # among the structures
    fields: np.ndarray  # which field each one turns
    sign: Tensor  # (neighbour, target): 1 if the field comes in, -1 if it goes


@dataclass(frozen=True)
class Contributed:
    """A linear layer over the fields of one class: the structure's, and what neighbours add."""

    weight: Tensor  # (input, out) under the structure itself
    bias: Tensor  # (out,)
    turned: Tensor | None  # (neighbour, channel, out): the turned field with its sign
    fields: Tensor | None  # (neighbour,): which one it is

    def base(self, x: Tensor) -> Tensor:
        """Under the structure: (batch * object, out)."""
        return torch.addmm(self.bias, x.flatten(0, 1), self.weight)

    def added(self, x: Tensor) -> Tensor:
        """What each neighbour adds: (neighbour, batch, object, out)."""
        assert self.turned is not None and self.fields is not None
        rows = x.flatten(0, 1).unflatten(1, (-1, self.turned.shape[1])).transpose(0, 1)
        return torch.bmm(rows[self.fields], self.turned).unflatten(1, x.shape[:2])


class ToggledPredictor(ComposedPredictor):
    """The predictors of one class under a structure and some of its neighbours.

    Structures come first in the batch: all samples under the structure itself, then all samples
    under its first neighbour, and so on.
    """

    def __init__(
        self, model: AbstractClassModel, c: str, structure: np.ndarray, parts: np.ndarray
    ) -> None:
        structures = model.neighbours(c, structure, parts)
        self._sort_parts(model, c, structures, np.asarray(parts))
        super().__init__(model, c, Wiring(model, structures))
        targets, width = self.num_targets, self.first_width

        def by_target(weight: Tensor) -> Tensor:
            """(structure, input, target * out) -> (target * structure, input, out)."""
            return weight.unflatten(2, (targets, width)).permute(2, 0, 1, 3).flatten(0, 1)

        self.first_weight = by_target(self.first_weight)
        self.first_bias = by_target(self.first_bias.expand(self.num_structures, -1, -1))
        if self.extreme_weight is not None:
            self.extreme_weight = by_target(self.extreme_weight.expand(self.num_structures, -1, -1))

    def _sort_parts(
        self, model: AbstractClassModel, c: str, structures: Tensor, parts: np.ndarray
    ) -> None:
        """Find the neighbours by what they turn: an own field, a field of others, a path."""
        num_own = len(model.schema.fields(c))
        self.own_rows = 1 + np.flatnonzero(parts < num_own)
        # Which of the own variants (the structure's, then one for each of `own_rows`) each has.
        self.own_variant = np.zeros(len(structures), dtype=np.int64)
        self.own_variant[self.own_rows] = 1 + np.arange(len(self.own_rows))
        self.turned: dict[str, Turned] = {}
        start = num_own
        for k in model.schema.classes:
            stop = start + len(model.schema.fields(k))
            rows = 1 + np.flatnonzero((start <= parts) & (parts < stop))
            if len(rows):
                fields = parts[rows - 1] - start
                block = model.index.global_block(structures, k, c)
                at = torch.as_tensor(fields, device=structures.device)
                sign = 2 * block[torch.as_tensor(rows), at] - 1
                self.turned[k] = Turned(slice(rows[0], rows[-1] + 1), fields, sign)
            start = stop

    def __call__(self, inputs: Inputs, encoded: dict[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        x = encoded[self.c]
        batch, objects = x.shape[:2]
        num = self.num_targets * self.num_structures
        first = torch.baddbmm(self.first_bias, _repeat(x, num), self.first_weight)
        if self.extreme_weight is not None:
            first.baddbmm_(_repeat(inputs.extremes[self.c], num), self.extreme_weight)
        for gathered, weight in self._gather(x, inputs, encoded):
            rows = gathered.reshape(num, batch * objects, gathered.shape[-1])
            weight = weight.expand(-1, self.num_structures, -1, -1).reshape(
                num, rows.shape[2], self.first_width
            )
            first.baddbmm_(rows, weight)
        leading = (self.num_structures * batch, objects)
        first = first.view(self.num_targets, leading[0] * objects, self.first_width)
        return self._decode(first.transpose(0, 1), leading)

    def _own_masks(self) -> Tensor:
        """Local edges of the own variants: (variant, own field, target)."""
        local = self.wiring.local(self.c)
        return local[torch.as_tensor([0, *self.own_rows], device=local.device)]

    def _contribute(self, k: str, weight: Tensor, bias: Tensor) -> Contributed:
        """A linear layer (input, target, out) over the fields of a class."""
        base = masked(weight.unsqueeze(0), self.wiring.others(k, self.c)[:1])[0]
        if k not in self.turned:
            return Contributed(base, bias.reshape(-1), None, None)
        turned = self.turned[k]
        fields = torch.as_tensor(turned.fields, device=weight.device)
        each = weight.unflatten(0, (len(self.model.schema.fields(k)), -1))[fields]
        added = (each * turned.sign[:, None, :, None]).flatten(2)
        return Contributed(base, bias.reshape(-1), added, fields)

    def _gather(
        self, x: Tensor, inputs: Inputs, encoded: dict[str, Tensor]
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """What others send (target, structure, batch, object, feature), with its first layer."""
        filled = [k for k in encoded if encoded[k].shape[1] > 0]
        aggregators = self.model.options.aggregators if filled and x.shape[1] else ()
        if "attention" in aggregators:
            yield self._attend_all(x, inputs, {k: encoded[k] for k in filled}), self.attended_weight
        if "sum" in aggregators and self.hears.any():
            yield self._sum_all(x, inputs, {k: encoded[k] for k in filled}), self.message_weight

    # ---------------------------------------------------------------- attention

    def _compose_attention(self) -> None:
        p, d = self.predictor, self.model.options.local_dim
        self.attended_weight = self._columns(d, d)
        both = torch.cat([p.key_weight, p.value_weight], dim=-1)
        own_bias = torch.cat([p.key_bias, p.value_bias], dim=-1)
        self.keys_and_values = {
            k: self._contribute(
                k,
                torch.bmm(p.global_weight[k].transpose(0, 1), both).transpose(0, 1),
                torch.bmm(p.global_bias[k].unsqueeze(1), both).squeeze(1) + own_bias,
            )
            for k in self.model.schema.classes
        }
        local = torch.cat([p.local_weight, p.local_bias.unsqueeze(0)]).transpose(0, 1)
        query = torch.bmm(local, p.query_weight)
        scale = d**-0.5
        weight = scale * query[:, :-1].transpose(0, 1).unsqueeze(0)
        self.query_weight = masked(weight, self._own_masks())
        self.query_bias = scale * (query[:, -1] + p.query_bias).reshape(1, 1, -1)

    def _attend_all(self, x: Tensor, inputs: Inputs, encoded: dict[str, Tensor]) -> Tensor:
        o, (batch, n) = self.model.options, x.shape[:2]
        heads, channels = o.heads, o.local_dim // o.heads
        query = torch.baddbmm(
            self.query_bias, _repeat(x, len(self.query_weight)), self.query_weight
        )
        # (sample, target and head) first, so that the objects of one sample make one product
        query = query.view(-1, batch, n, self.num_targets, heads, channels)
        query = query.permute(1, 3, 4, 0, 2, 5).flatten(3, 4).flatten(0, 2)
        keys: list[Tensor] = []
        values: list[Tensor] = []
        at: dict[str, slice] = {}
        for k, layer in self.keys_and_values.items():
            if k in encoded:
                both = layer.base(encoded[k]).view(batch, -1, self.num_targets, 2 * heads, channels)
                both = both.permute(0, 2, 3, 1, 4)  # (batch, target, key and value heads, r, ch)
                start = sum(key.shape[3] for key in keys)
                at[k] = slice(start, start + both.shape[3])
                keys.append(both[:, :, :heads])
                values.append(both[:, :, heads:])
        key, value = (torch.cat(t, dim=3).flatten(0, 2) for t in (keys, values))
        table = torch.bmm(query, key.transpose(1, 2))
        table = table.view(batch, -1, len(self.query_weight), n, key.shape[1])
        is_source = torch.cat([inputs.others(k, self.c).expand(-1, n, -1) for k in at], dim=2)
        if not is_source.all():
            table.masked_fill_(~is_source[:, None, None], -torch.inf)
        variant = torch.as_tensor(self.own_variant, device=x.device)
        scores = table.flatten(0, 1).index_select(1, variant)  # (sample.., structure, n, r)
        added_values = {}
        for k, turned in self.turned.items():
            if k in encoded:
                delta = self.keys_and_values[k].added(encoded[k])
                delta = delta.view(*delta.shape[:3], self.num_targets, 2 * heads, channels)
                delta = delta.permute(1, 3, 4, 0, 2, 5)  # (batch, target, heads, field, r, ch)
                delta_keys, added_values[k] = (
                    t.flatten(0, 2) for t in (delta[:, :, :heads], delta[:, :, heads:])
                )
                product = torch.bmm(query[:, :n], delta_keys.flatten(1, 2).transpose(1, 2))
                product = product.unflatten(2, delta_keys.shape[1:3]).transpose(1, 2)
                scores[:, turned.rows, :, at[k]] += product
        self._close(scores, at, batch)
        top = scores.amax(-1, keepdim=True).clamp_(min=torch.finfo(scores.dtype).min)
        weights = scores.sub_(top).exp_()
        total = weights.sum(-1, keepdim=True)
        weights.div_(total.add_(total == 0))
        attended = torch.bmm(weights.flatten(1, 2), value).unflatten(1, weights.shape[1:3])
        for k, delta in added_values.items():
            rows = self.turned[k].rows
            attended[:, rows] += torch.matmul(weights[:, rows, :, at[k]], delta)
        attended = attended.view(batch, self.num_targets, heads, *attended.shape[1:])
        return attended.permute(1, 3, 0, 4, 2, 5).flatten(4)

    def _close(self, scores: Tensor, at: dict[str, slice], batch: int) -> None:
        """Shut out the classes that a target does not read, where options say so."""
        if not self.model.options.skip_unrelated:
            return
        by_target = scores.view(batch, self.num_targets, -1, *scores.shape[1:])
        for k, place in at.items():
            is_closed = ~torch.as_tensor(self.wiring.reads(k, self.c).T, device=scores.device)
            if is_closed.any():
                is_closed = is_closed[:, None, :, None, None]
                by_target[..., place].masked_fill_(is_closed, -torch.inf)

    # ---------------------------------------------------------------- messages

    def _compose_messages(self) -> None:
        p, o = self.predictor, self.model.options
        before = o.local_dim * (2 if "attention" in o.aggregators else 1)
        self.message_weight = self._columns(before, o.message_dim)
        self.message_own = masked(p.message_own.unsqueeze(0), self._own_masks())
        self.hears = self.wiring.has_path(self.c, "sum")
        everyone = np.arange(self.num_targets)
        self.messages = {
            k: self._contribute(k, p.message_weight[k], p.message_bias[k])
            for k in self.model.schema.classes
        }
        self.equal_weights = {k: self._compose_equality(k, everyone) for k in self.messages}

    def _sum_all(self, x: Tensor, inputs: Inputs, encoded: dict[str, Tensor]) -> Tensor:
        axes = (self.num_targets, self.model.options.message_dim)
        own = torch.bmm(_repeat(x, len(self.message_own)), self.message_own)
        own = own.view(-1, *x.shape[:2], *axes)
        variant = torch.as_tensor(self.own_variant, device=x.device)
        hears = torch.as_tensor(self.hears, dtype=own.dtype, device=x.device)
        total = own.relu().index_select(0, variant) * hears[:, None, None, :, None]
        for k, codes in encoded.items():
            is_open = self.hears
            if self.model.options.skip_unrelated:
                is_open = is_open & self.wiring.reads(k, self.c)
            layer = self.messages[k]
            source = layer.base(codes).view(*codes.shape[:2], *axes)
            source.masked_fill_(~inputs.present[k][:, :, None, None], -torch.inf)
            turned = self.turned.get(k)
            same = [i for i in range(self.num_structures) if self.own_variant[i] == 0]
            if turned is not None:
                added = layer.added(codes).view(-1, *codes.shape[:2], *axes)
                for i, each in zip(range(turned.rows.start, turned.rows.stop), added, strict=True):
                    same.remove(i)
                    self._send(total, [i], own[0], source + each, k, inputs, is_open)
            self._send(total, same, own[0], source, k, inputs, is_open)
            for i in self.own_rows.tolist():
                self._send(total, [i], own[self.own_variant[i]], source, k, inputs, is_open)
        return total.permute(3, 0, 1, 2, 4)

    def _send(
        self,
        total: Tensor,
        rows: list[int],
        own: Tensor,
        source: Tensor,
        k: str,
        inputs: Inputs,
        is_open: np.ndarray,
    ) -> None:
        """Add the messages of a class to the structures that share them."""
        rows = [i for i in rows if is_open[i].any()]
        if not rows:
            return
        message = own.unsqueeze(2) + source.unsqueeze(1)
        weight = self.equal_weights[k]
        if weight is not None:
            same = inputs.equal[k, self.c].flatten(0, 2)
            message += (same @ weight[rows[0]].flatten(1)).view(message.shape)
        if k == self.c:
            message.diagonal(dim1=1, dim2=2).fill_(-torch.inf)
        added = message.relu_().sum(2)
        for i in rows:
            flags = torch.as_tensor(is_open[i], dtype=added.dtype, device=added.device)
            total[i] += added * flags.unsqueeze(-1)


def _repeat(x: Tensor, times: int) -> Tensor:
    """Objects side by side, the same for each of many products: (times, batch * object, width)."""
    return x.reshape(1, -1, x.shape[2]).expand(times, -1, -1)
