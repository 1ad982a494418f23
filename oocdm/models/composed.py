"""The predictors of one class under some structures, all linear layers in a row made one.

An encoding that the graph masks off is zero and the layer after it is linear, so masking the
*weights* gives the same as masking the activations. One product then serves all target fields
of a class, and many structures at once cost one batched product. What no structure uses is left
out. All this depends on weights and structures alone: while they stay, it is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from oocdm.models.attention import attend, closed
from oocdm.models.features import Inputs
from oocdm.models.network import AbstractClassModel
from oocdm.models.parameters import PredictorParameters
from oocdm.models.wiring import Wiring

LEAK = 0.01


@dataclass(frozen=True)
class Attended:
    """Keys and values of one class of sources."""

    weight: Tensor | None  # (structure, input, [key, value] * target * dim); None: all alike
    bias: Tensor  # ([key, value], target, dim)
    is_read: np.ndarray  # (structure, target)


@dataclass(frozen=True)
class Sender:
    """Messages of one class of sources."""

    live: np.ndarray  # targets that some structure lets hear them
    weight: Tensor  # (structure, input, live target * channel)
    bias: Tensor  # (live target, channel)
    equal_weight: Tensor | None  # (structure, pair, live target, channel)
    is_open: Tensor  # (structure, live target)


class ComposedPredictor:
    """What turns encoded attributes into outputs of decoders and linear maps."""

    def __init__(self, model: AbstractClassModel, c: str, wiring: Wiring) -> None:
        self.model, self.c, self.wiring = model, c, wiring
        self.predictor: PredictorParameters = model.predictor(c)
        self.num_structures = len(wiring.structures)
        self.num_targets = len(model.schema.targets(c))
        self.maps = self._linear_maps()
        self._compose_first_layer()
        o = model.options
        self.attended: dict[str, Attended] = {}
        if "attention" in o.aggregators:
            self._compose_attention()
        self.senders: dict[str, Sender] = {}
        if "sum" in o.aggregators:
            self._compose_messages()
        self._compose_decoder()
        self.has_self = wiring.self_edges(c)

    def __call__(self, inputs: Inputs, encoded: dict[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        """Outputs of decoders and linear maps: (batch, object, target, output) each."""
        x = encoded[self.c]
        leading = x.shape[:2]
        first = self._first_layer(x, inputs)
        for gathered, weight in self._gather(x, inputs, encoded):
            first = self._add_gathered(first, gathered, weight)
        return self._decode(first, leading)

    # ---------------------------------------------------------------- first layer, linear map

    def _linear_maps(self) -> Tensor | None:
        """The linear map of each target and structure: (target, structure, feature, out)."""
        p, o = self.predictor, self.model.options
        if not o.linear_path:
            return None
        maps = p.linear_weight[:, :1]
        if o.structure_aware:
            added = torch.bmm(self._present(), p.linear_weight[:, 1:].flatten(2))
            maps = maps + added.unflatten(2, maps.shape[2:])
        return maps.expand(-1, self.num_structures, -1, -1)

    def _present(self) -> Tensor:
        """Which parts the structures have: (target, structure, part)."""
        return self.model.parts(self.wiring.structures, self.c).transpose(0, 1)

    def _columns(self, start: int, width: int) -> Tensor:
        """First layer and linear map for some features: (target, structure or 1, feature, out)."""
        weight = self.predictor.decoder_weight1[:, None, start : start + width]
        if self.maps is None:
            return weight
        maps = self.maps[:, :, start : start + width]
        return torch.cat([weight.expand(-1, self.num_structures, -1, -1), maps], dim=-1)

    def _compose_first_layer(self) -> None:
        p, o, s = self.predictor, self.model.options, self.num_structures
        d = o.local_dim
        local = p.local_weight.transpose(0, 1)  # (target, input, local)
        weight = torch.bmm(local, p.decoder_weight1[:, :d]).transpose(0, 1).unsqueeze(0)
        bias = torch.baddbmm(
            p.decoder_bias1.unsqueeze(1), p.local_bias.unsqueeze(1), p.decoder_weight1[:, :d]
        )
        if o.structure_aware:
            bias = bias + torch.bmm(self._present(), p.structure_weight)
        if self.maps is not None:
            maps = self.maps[:, :, :d].transpose(1, 2).flatten(2)  # (target, local, s * out)
            both = torch.cat([local, p.local_bias.unsqueeze(1)], dim=1)
            added = torch.bmm(both, maps).unflatten(2, (s, -1))  # (target, input + 1, s, out)
            weight = torch.cat(
                [weight.expand(s, -1, -1, -1), added[:, :-1].permute(2, 1, 0, 3)], dim=-1
            )
            bias = torch.cat([bias.expand(-1, s, -1), added[:, -1]], dim=-1)
        self.first_width = bias.shape[-1]
        self.first_weight = masked(weight, self.wiring.local(self.c))
        self.first_bias = bias.transpose(0, 1).flatten(1).unsqueeze(1)
        self.extreme_weight: Tensor | None = None
        num_extremes = len(self.model.featuriser.extreme_columns[self.c])
        if num_extremes:
            start = p.decoder_weight1.shape[1] - num_extremes
            columns = self._columns(start, num_extremes).permute(1, 2, 0, 3)
            allowed = self.wiring.extremes(self.c).transpose(1, 2).unsqueeze(-1)
            self.extreme_weight = (columns * allowed).flatten(2)

    def _first_layer(self, x: Tensor, inputs: Inputs) -> Tensor:
        """All that needs no other object's encoding: (batch * object, target, out)."""
        first = self._project(x, self.first_weight, self.first_bias)
        if self.extreme_weight is not None:
            extremes = inputs.extremes[self.c]
            rows = extremes.reshape(self.num_structures, -1, extremes.shape[2])
            first = torch.baddbmm(first, rows, self.extreme_weight)
        return first.view(-1, self.num_targets, self.first_width)

    def _project(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """A linear map of encoded objects: (structure, batch * object / structure, out)."""
        return torch.baddbmm(bias, x.reshape(self.num_structures, -1, x.shape[2]), weight)

    # ---------------------------------------------------------------- from other objects

    def _gather(
        self, x: Tensor, inputs: Inputs, encoded: dict[str, Tensor]
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """What others send (batch, object, target, feature), each with its first layer."""
        if self.attended:
            found = self._attend(x, inputs, encoded)
            if found is not None:
                yield found, self.attended_weight
        if "sum" in self.model.options.aggregators and self.hears.any():
            yield self._sum(x, inputs, encoded), self.message_weight

    def _add_gathered(self, first: Tensor, gathered: Tensor, weight: Tensor) -> Tensor:
        """The first layer with what others send: (batch * object, target, out)."""
        groups, width = weight.shape[1], gathered.shape[3]
        axes = (groups, -1, self.num_targets)
        each, base = (
            t.reshape(*axes, t.shape[-1]).permute(2, 0, 1, 3).flatten(0, 1)
            for t in (gathered, first)
        )
        total = torch.baddbmm(base, each, weight.reshape(-1, width, self.first_width))
        return total.view(self.num_targets, -1, self.first_width).transpose(0, 1)

    # ---------------------------------------------------------------- attention

    def _compose_attention(self) -> None:
        p, c, d = self.predictor, self.c, self.model.options.local_dim
        self.attended_weight = self._columns(d, d)
        reads = {k: self.wiring.reads(k, c) for k in self.model.schema.classes}
        skip = self.model.options.skip_unrelated
        both = torch.cat([p.key_weight, p.value_weight], dim=-1)
        own_bias = torch.cat([p.key_bias, p.value_bias], dim=-1)
        for k, is_read in reads.items():
            if skip and not is_read.any():
                continue
            # Key and value straight from the encodings: two linear layers in a row are one.
            bias = torch.bmm(p.global_bias[k].unsqueeze(1), both).squeeze(1) + own_bias
            weight = None
            if is_read.any():
                composed = torch.bmm(p.global_weight[k].transpose(0, 1), both)
                weight = masked(
                    _halves(composed.transpose(0, 1)).unsqueeze(0), self.wiring.others(k, c)
                )
            self.attended[k] = Attended(weight, _halves(bias), is_read)
        local = torch.cat([p.local_weight, p.local_bias.unsqueeze(0)]).transpose(0, 1)
        query = torch.bmm(local, p.query_weight)
        self.query_weight = masked(query[:, :-1].transpose(0, 1).unsqueeze(0), self.wiring.local(c))
        self.query_bias = (query[:, -1] + p.query_bias).reshape(1, 1, -1)

    def _attend(self, x: Tensor, inputs: Inputs, encoded: dict[str, Tensor]) -> Tensor | None:
        """Attention over all other objects: (batch, object, target, dim)."""
        o, dtype, batch = self.model.options, x.dtype, inputs.batch_size
        keys, values, shifts = [], [], []
        for k, source in self.attended.items():
            is_source = inputs.others(k, self.c)
            if is_source.shape[2] == 0:
                continue
            if source.weight is None:
                # All objects look alike: they enter as one, its exponential times their number.
                key, value = source.bias[:, None, None]
                shift = is_source.sum(2, dtype=dtype).log().clamp(min=torch.finfo(dtype).min / 2)
                shift = shift[:, :, None, None]
            else:
                both = self._project(encoded[k], source.weight, source.bias.reshape(1, 1, -1))
                key, value = both.view(*encoded[k].shape[:2], *source.bias.shape).unbind(2)
                is_source = is_source.unsqueeze(3)
                if o.skip_unrelated:
                    flags = torch.as_tensor(source.is_read, device=x.device)
                    is_source = is_source & self.wiring.spread(flags, batch)[:, None, None]
                shift = closed(is_source, dtype)
            keys.append(key)
            values.append(value)
            shifts.append(shift)
        if not keys:
            return None
        query = self._project(x, self.query_weight, self.query_bias)
        return attend(
            query.view(*x.shape[:2], self.num_targets, o.local_dim),
            _join(keys, (0,)),
            _join(values, (0,)),
            _join(shifts, (0, 1, 3)),
            o.heads,
        )

    # ---------------------------------------------------------------- messages

    def _compose_messages(self) -> None:
        p, c, wiring = self.predictor, self.c, self.wiring
        o = self.model.options
        before = o.local_dim * (2 if "attention" in o.aggregators else 1)
        self.message_weight = self._columns(before, o.message_dim)
        self.message_own = masked(p.message_own.unsqueeze(0), wiring.local(c))
        self.hears = wiring.has_path(c, "sum")
        for k in self.model.schema.classes:
            is_open = self.hears
            if self.model.options.skip_unrelated:
                is_open = is_open & wiring.reads(k, c)
            live = np.flatnonzero(is_open.any(0))
            if len(live) == 0:
                continue
            pick = _picker(live, self.num_targets)
            self.senders[k] = Sender(
                live,
                masked(pick(p.message_weight[k], 1).unsqueeze(0), pick(wiring.others(k, c), 2)),
                pick(p.message_bias[k]),
                self._compose_equality(k, live),
                torch.as_tensor(is_open[:, live], device=p.message_own.device),
            )

    def _compose_equality(self, k: str, live: np.ndarray) -> Tensor | None:
        schema, c = self.model.schema, self.c
        fields = self.model.featuriser.equal_fields[k, c]
        if not fields:
            return None
        ours = [list(schema.fields(c)).index(f) for f in fields]
        theirs = [list(schema.fields(k)).index(f) for f in fields]
        both = self.wiring.local(c)[:, ours] * self.wiring.others(k, c)[:, theirs]
        return (both.unsqueeze(-1) * self.predictor.equal_weight[k])[:, :, live]

    def _sum(self, x: Tensor, inputs: Inputs, encoded: dict[str, Tensor]) -> Tensor:
        """One's own message and those from the others: (batch, object, target, channel).

        One's own keeps an edge from others from being worth something for the mere hidden units
        that come with their messages.
        """
        rows = x.reshape(self.num_structures, -1, x.shape[2])
        own = torch.bmm(rows, self.message_own)
        own = own.view(*x.shape[:2], self.num_targets, self.model.options.message_dim)
        total = own.relu()
        if not self.hears.all():
            total = total * self.wiring.gate(self.c, "sum", inputs.batch_size)
        for k, sender in self.senders.items():
            if encoded[k].shape[1] == 0:
                continue
            added = self._messages(k, sender, inputs, encoded[k], own).sum(2)
            if len(sender.live) < self.num_targets:
                live = torch.as_tensor(sender.live, device=x.device)
                total = total.index_add(2, live, added)
            else:
                total = total + added
        return total

    def _messages(
        self, k: str, sender: Sender, inputs: Inputs, encoded: Tensor, own: Tensor
    ) -> Tensor:
        """ReLU of own and source parts: (batch, object, source object, live target, channel)."""
        source = self._project(encoded, sender.weight, sender.bias.reshape(1, 1, -1))
        source = source.view(*encoded.shape[:2], *sender.bias.shape)
        # A source that does not count gets minus infinity, which the ReLU turns into nothing.
        is_open = self.wiring.spread(sender.is_open, inputs.batch_size)
        is_source = inputs.present[k].unsqueeze(2) & is_open.unsqueeze(1)
        if not is_source.all():
            source = source.masked_fill(~is_source.unsqueeze(-1), -torch.inf)
        pick = _picker(sender.live, self.num_targets)
        message = pick(own, 2).unsqueeze(2) + source.unsqueeze(1)
        if sender.equal_weight is not None:
            same = inputs.equal[k, self.c]
            weight = self.wiring.spread(sender.equal_weight, inputs.batch_size)
            for i in range(weight.shape[1]):
                message = message + same[..., i, None, None] * weight[:, None, None, i]
        if k == self.c:
            # Not through autograd: the ReLU lets no gradient pass here anyway.
            message.detach().diagonal(dim1=1, dim2=2).fill_(-torch.inf)
        return message.relu_()

    # ---------------------------------------------------------------- decoder

    def _compose_decoder(self) -> None:
        p = self.predictor
        self.live = np.flatnonzero(self.wiring.has_path(self.c, "decoder").any(0))
        pick = _picker(self.live, self.num_targets)
        self.hidden_bias = pick(p.decoder_bias2).unsqueeze(1)
        self.hidden_weight, self.out_weight = pick(p.decoder_weight2), pick(p.decoder_weight3)

    def _decode(
        self, first: Tensor, leading: tuple[int, ...] | torch.Size
    ) -> tuple[Tensor, Tensor | None]:
        p, (batch, _) = self.predictor, leading
        first = first.transpose(0, 1)
        num_hidden = p.decoder_weight1.shape[2]
        hidden, linear = first.split([num_hidden, self.first_width - num_hidden], dim=-1)
        hidden = _picker(self.live, self.num_targets)(hidden)
        in_place = not torch.is_grad_enabled()
        hidden = functional.leaky_relu(hidden, LEAK, in_place)
        hidden = torch.baddbmm(self.hidden_bias, hidden, self.hidden_weight)
        out = torch.bmm(functional.leaky_relu(hidden, LEAK, in_place), self.out_weight)
        if len(self.live) < self.num_targets:
            index = torch.as_tensor(self.live, device=out.device)
            out = out.new_zeros(self.num_targets, *out.shape[1:]).index_copy(0, index, out)
        out = out.unflatten(1, leading).permute(1, 2, 0, 3)
        if self.num_structures > 1:
            out = out * self.wiring.gate(self.c, "decoder", batch)
        if self.maps is None:
            return out + p.decoder_bias3, None
        return out + p.decoder_bias3, linear.unflatten(1, leading).permute(1, 2, 0, 3)


def masked(weight: Tensor, mask: Tensor) -> Tensor:
    """A weight without the inputs that structures forbid: (structure, input, rest * target * out).

    `weight` is (structure or 1, field * channel, ..., target, out), `mask` (structure, field,
    target).
    """
    groups, num_fields, num_targets = mask.shape
    width = weight.shape[1]
    rows = weight.reshape(len(weight), num_fields, -1, *weight.shape[2:])
    axes = (groups, num_fields, *[1] * (rows.ndim - 4), num_targets, 1)
    return (rows * mask.reshape(axes)).reshape(groups, width, -1)


def _halves(both: Tensor) -> Tensor:
    """(..., target, key and value) -> (..., [key, value], target, dim)."""
    return both.unflatten(-1, (2, -1)).transpose(-2, -3)


def _picker(chosen: np.ndarray, total: int) -> Callable[..., Tensor]:
    """A function that picks some targets of a tensor along an axis; all of them cost nothing."""
    if len(chosen) == total:
        return lambda tensor, axis=0: tensor
    return lambda tensor, axis=0: tensor.index_select(
        axis, torch.as_tensor(chosen, device=tensor.device)
    )


def _join(tensors: list[Tensor], shared: tuple[int, ...]) -> Tensor:
    """Side by side along the source axis, after widening the shared axes of width 1."""
    if len(tensors) == 1:
        return tensors[0]
    widest = {axis: max(t.shape[axis] for t in tensors) for axis in shared}
    axis = 2 if 1 in shared else 1
    shapes = [[widest.get(i, n) for i, n in enumerate(t.shape)] for t in tensors]
    return torch.cat([t.expand(s) for t, s in zip(tensors, shapes, strict=True)], dim=axis)
