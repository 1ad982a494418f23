"""The fast OOCDM: equal to the reference, with dense products instead of loops.

An encoding that the graph masks off is zero and the layer after it is linear, so masking the
*weights* gives the same as masking the activations. One product a pair of classes then serves
all target fields, and many structures at once cost one batched product. What no structure of
a batch uses is left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from oocdm.models.attention import attend, closed
from oocdm.models.features import Inputs
from oocdm.models.network import AbstractWorldModel, Structures
from oocdm.models.prediction import Predictions
from oocdm.models.variants import VariantEmbedding
from oocdm.models.wiring import Wiring

LEAK = 0.01


class FastModel(AbstractWorldModel):
    """OOCDM with masked weights, batched over fields, targets and structures."""

    def encode(self, inputs: Inputs) -> dict[str, Tensor]:
        """Encoded attributes of every object: (batch, object, field * channel) a class."""
        encoded = {}
        for c, features in inputs.features.items():
            p = self.encoder(c)
            batch, objects, fields, width = features.shape
            x = features.reshape(batch * objects, fields, width).transpose(0, 1)
            hidden = torch.baddbmm(p.hidden_bias.unsqueeze(1), x, p.hidden_weight)
            hidden = functional.leaky_relu(hidden, LEAK)
            code = torch.baddbmm(p.bias.unsqueeze(1), hidden, p.weight).relu()
            if self.options.enrich:
                code = torch.cat([code, x[..., : self.featuriser.raw_width[c]]], dim=-1)
            encoded[c] = code.transpose(0, 1).flatten(1).unflatten(0, (batch, objects))
        return encoded

    def decode(self, inputs: Inputs, structures: Structures) -> Predictions:
        return self._decode_encoded(inputs, self.encode(inputs), structures)

    def decode_each(self, inputs: Inputs, structures: list[Structures]) -> list[Predictions]:
        encoded = self.encode(inputs)
        return [self._decode_encoded(inputs, encoded, each) for each in structures]

    def decode_variants(self, inputs: Inputs, structures: Structures) -> Predictions:
        encoded, num = self.encode(inputs), len(structures)
        wiring = Wiring(self, structures, num * inputs.batch_size)
        classes = {}
        for c in self.predictors:
            h = VariantEmbedding(self, c, inputs, encoded, wiring).embed().flatten(1, 2)
            out, linear = self._decode_embedding(c, h, wiring)
            has_self = wiring.spread(self._self_edges(c, structures))
            values = inputs.values[c].repeat(num, 1, 1, 1)
            classes[c] = self.head(c, out, linear, values, has_self)
        return Predictions(self.schema, classes)

    def _decode_encoded(
        self, inputs: Inputs, encoded: dict[str, Tensor], structures: Structures
    ) -> Predictions:
        wiring = Wiring(self, structures, inputs.batch_size)
        classes = {}
        for c in self.predictors:
            h = self._embed(c, inputs, encoded, wiring)
            out, linear = self._decode_embedding(c, h, wiring)
            has_self = wiring.spread(self._self_edges(c, structures))
            classes[c] = self.head(c, out, linear, inputs.values[c], has_self)
        return Predictions(self.schema, classes)

    def _self_edges(self, c: str, structures: Structures) -> Tensor:
        names, targets = list(self.schema.fields(c)), self.schema.targets(c)
        block = self.index.local_block(structures, c)
        return block[:, [names.index(v) for v in targets], list(range(len(targets)))]

    # ---------------------------------------------------------------- embedding, decoder

    def _embed(self, c: str, inputs: Inputs, encoded: dict[str, Tensor], wiring: Wiring) -> Tensor:
        """What the decoders of a class see: (target, batch, object, feature)."""
        p, o = self.predictor(c), self.options
        weights: list[Tensor] = [p.local_weight]
        biases: list[Tensor] = [p.local_bias]
        if "attention" in o.aggregators:
            # Two linear layers in a row are one: the query straight from the encodings.
            weights.append(_after(p.local_weight, p.query_weight))
            biases.append(_after(p.local_bias.unsqueeze(0), p.query_weight)[0] + p.query_bias)
        if "sum" in o.aggregators:
            weights.append(p.message_own)
            biases.append(torch.zeros_like(p.message_own[0]))
        own = _project(encoded[c], weights, biases, wiring.local(c))
        parts = [own.pop(0)]
        if "attention" in o.aggregators:
            parts.append(self._attend(c, inputs, encoded, wiring, own.pop(0)))
        if "sum" in o.aggregators:
            parts.append(self._sum(c, inputs, encoded, wiring, own.pop(0)))
        if self.featuriser.extreme_columns[c]:
            allowed = wiring.spread(wiring.extremes(c)).unsqueeze(1)
            parts.append(inputs.extremes[c].unsqueeze(2) * allowed)
        return torch.cat([part.permute(2, 0, 1, 3) for part in parts], dim=-1)

    def _decode_embedding(self, c: str, h: Tensor, wiring: Wiring) -> tuple[Tensor, Tensor | None]:
        """Outputs of decoders and linear maps: (batch, object, target, output) each."""
        p = self.predictor(c)
        num_targets, leading = len(h), h.shape[1:3]
        hidden, linear = self._first_layer(c, h, wiring)
        live = np.flatnonzero(wiring.has_path(c, "decoder").any(0))
        pick = _picker(live, num_targets)
        hidden = functional.leaky_relu(pick(hidden), LEAK)
        hidden = torch.baddbmm(pick(p.decoder_bias2).unsqueeze(1), hidden, pick(p.decoder_weight2))
        hidden = functional.leaky_relu(hidden, LEAK)
        out = torch.bmm(hidden, pick(p.decoder_weight3))
        if len(live) < num_targets:
            index = torch.as_tensor(live, device=out.device)
            out = out.new_zeros(num_targets, *out.shape[1:]).index_copy(0, index, out)
        out = out.unflatten(1, leading).permute(1, 2, 0, 3)
        if not wiring.is_single:
            out = out * wiring.gate(c, "decoder")
        if linear is not None:
            linear = linear.unflatten(1, leading).permute(1, 2, 0, 3)
        return out + p.decoder_bias3, linear

    def _first_layer(self, c: str, h: Tensor, wiring: Wiring) -> tuple[Tensor, Tensor | None]:
        """First hidden layer and linear map, in one product: (target, batch * object, out)."""
        p, o = self.predictor(c), self.options
        weight = p.decoder_weight1.unsqueeze(1)  # (target, structure, feature, out)
        bias = p.decoder_bias1.unsqueeze(1)  # (target, structure, out)
        present = self.parts(wiring.structures, c).transpose(0, 1)
        if o.structure_aware:
            bias = bias + torch.bmm(present, p.structure_weight)
        if o.linear_path:
            maps = p.linear_weight[:, :1]
            if o.structure_aware:
                added = torch.bmm(present, p.linear_weight[:, 1:].flatten(2))
                maps = maps + added.unflatten(2, maps.shape[2:])
            weight = torch.cat([weight.expand(-1, maps.shape[1], -1, -1), maps], dim=-1)
            bias = functional.pad(bias, (0, maps.shape[-1]))
        groups, num_hidden = bias.shape[1], p.decoder_weight1.shape[2]
        x = h.reshape(len(h) * groups, -1, h.shape[3])
        weight = weight.expand(-1, groups, -1, -1).flatten(0, 1)
        both = torch.baddbmm(bias.flatten(0, 1).unsqueeze(1), x, weight)
        both = both.view(len(h), h.shape[1] * h.shape[2], both.shape[2])
        if not o.linear_path:
            return both, None
        hidden, linear = both.split([num_hidden, both.shape[2] - num_hidden], dim=-1)
        return hidden, linear

    # ---------------------------------------------------------------- messages

    def _sum(
        self, c: str, inputs: Inputs, encoded: dict[str, Tensor], wiring: Wiring, own: Tensor
    ) -> Tensor:
        """Messages from the other objects, summed: (batch, object, target, channel)."""
        total: Tensor | None = None
        for k in self.schema.classes:
            counts = wiring.has_path(c, "sum")
            if self.options.skip_unrelated:
                counts = counts & wiring.reads(k, c)
            live = np.flatnonzero(counts.any(0))
            if len(live) == 0 or encoded[k].shape[1] == 0:
                continue
            is_open = wiring.spread(torch.as_tensor(counts[:, live], device=own.device))
            added = self._messages(c, k, live, is_open, inputs, encoded[k], wiring, own).sum(2)
            if len(live) < own.shape[2]:
                empty = torch.zeros_like(own) if total is None else total
                total = empty.index_add(2, torch.as_tensor(live, device=own.device), added)
            else:
                total = added if total is None else total + added
        return torch.zeros_like(own) if total is None else total

    def _messages(
        self,
        c: str,
        k: str,
        live: np.ndarray,
        is_open: Tensor,
        inputs: Inputs,
        encoded: Tensor,
        wiring: Wiring,
        own: Tensor,
    ) -> Tensor:
        """ReLU of own and source parts: (batch, object, source object, live target, channel).

        `is_open` (batch or 1, live target) says which targets get messages at all.
        """
        p = self.predictor(c)
        pick = _picker(live, own.shape[2])
        (source,) = _project(
            encoded,
            [pick(p.message_weight[k], 1)],
            [pick(p.message_bias[k])],
            pick(wiring.others(k, c), 2),
        )
        # A source that does not count gets minus infinity, which the ReLU turns into nothing.
        is_source = inputs.present[k].unsqueeze(2) & is_open.unsqueeze(1)
        if not is_source.all():
            source = source.masked_fill(~is_source.unsqueeze(-1), -torch.inf)
        message = pick(own, 2).unsqueeze(2) + source.unsqueeze(1)
        if self.featuriser.equal_fields[k, c]:
            message = message + self._equality(c, k, live, inputs, wiring)
        if k == c:
            others = ~torch.eye(own.shape[1], dtype=torch.bool, device=own.device)
            return message.relu_() * others[None, :, :, None, None].to(message.dtype)
        return message.relu_()

    def _equality(self, c: str, k: str, live: np.ndarray, inputs: Inputs, wiring: Wiring) -> Tensor:
        """What equal attributes add to messages: (batch, object, source, live target, channel)."""
        fields = self.featuriser.equal_fields[k, c]
        ours = [list(self.schema.fields(c)).index(f) for f in fields]
        theirs = [list(self.schema.fields(k)).index(f) for f in fields]
        both = wiring.local(c)[:, ours] * wiring.others(k, c)[:, theirs]
        each = both.unsqueeze(-1) * self.predictor(c).equal_weight[k]
        weight = wiring.spread(each[:, :, live])
        same = inputs.equal[k, c]
        total = same[..., 0, None, None] * weight[:, None, None, 0]
        for i in range(1, len(fields)):
            total = total + same[..., i, None, None] * weight[:, None, None, i]
        return total

    # ---------------------------------------------------------------- attention

    def _attend(
        self, c: str, inputs: Inputs, encoded: dict[str, Tensor], wiring: Wiring, query: Tensor
    ) -> Tensor:
        """Attention over all other objects: (batch, object, target, local_dim)."""
        num_targets = query.shape[2]
        reads = {k: wiring.reads(k, c) for k in self.schema.classes}
        is_live = np.any([r.any(0) for r in reads.values()], axis=0)
        found, order = [], []
        for targets in (np.flatnonzero(is_live), np.flatnonzero(~is_live)):
            if len(targets):
                found.append(self._attend_for(c, targets, reads, inputs, encoded, wiring, query))
                order.append(targets)
        if len(found) == 1:
            return found[0]
        position = np.empty(num_targets, dtype=np.int64)
        position[np.concatenate(order)] = np.arange(num_targets)
        return torch.cat(found, dim=2)[:, :, torch.as_tensor(position, device=query.device)]

    def _attend_for(
        self,
        c: str,
        targets: np.ndarray,
        reads: dict[str, np.ndarray],
        inputs: Inputs,
        encoded: dict[str, Tensor],
        wiring: Wiring,
        query: Tensor,
    ) -> Tensor:
        """Attention of some targets.

        All objects of a class that none of them reads look alike: the class enters as one
        object whose exponential is multiplied by their number.
        """
        p, dtype = self.predictor(c), query.dtype
        pick = _picker(targets, query.shape[2])
        query = pick(query, 2)
        layers = [(pick(p.key_weight), p.key_bias), (pick(p.value_weight), p.value_bias)]
        keys, values, shifts = [], [], []
        for k in self.schema.classes:
            is_read = reads[k][:, targets]
            is_source = self._is_source(c, k, inputs)
            if is_source.shape[2] == 0 or (self.options.skip_unrelated and not is_read.any()):
                continue
            constant = pick(p.global_bias[k]).unsqueeze(0)
            biases = [_after(constant, w)[0] + pick(bias) for w, bias in layers]
            if not is_read.any():
                key, value = (bias.expand(1, 1, *bias.shape) for bias in biases)
                shift = is_source.sum(2, dtype=dtype).log().clamp(min=torch.finfo(dtype).min / 2)
                shift = shift[:, :, None, None]
            else:
                weight = pick(p.global_weight[k], 1)
                composed = [_after(weight, w) for w, _ in layers]
                key, value = _project(encoded[k], composed, biases, pick(wiring.others(k, c), 2))
                is_source = is_source.unsqueeze(3)
                if self.options.skip_unrelated:
                    flags = torch.as_tensor(is_read, device=query.device)
                    is_source = is_source & wiring.spread(flags)[:, None, None]
                shift = closed(is_source, dtype)
            keys.append(key)
            values.append(value)
            shifts.append(shift)
        if not keys:
            return torch.zeros_like(query)
        return attend(
            query,
            _join(keys, (0,)),
            _join(values, (0,)),
            _join(shifts, (0, 1, 3)),
            self.options.heads,
        )

    def _is_source(self, c: str, k: str, inputs: Inputs) -> Tensor:
        """Which objects of class k are others: (batch, object or 1, source object)."""
        is_source = inputs.present[k].unsqueeze(1)
        if k == c:
            n = is_source.shape[2]
            is_source = is_source & ~torch.eye(n, dtype=torch.bool, device=is_source.device)
        return is_source


def _after(weight: Tensor, layer: Tensor) -> Tensor:
    """A layer (target, hidden, out) after a weight (input, target, hidden), as one weight."""
    return torch.bmm(weight.transpose(0, 1), layer).transpose(0, 1)


def _project(x: Tensor, weights: list[Tensor], biases: list[Tensor], mask: Tensor) -> list[Tensor]:
    """Masked linear maps of (batch, object, field * channel) to (batch, object, target, out).

    Each weight is (field * channel, target, out) with a bias (target, out); `mask` is
    (structure, field, target).
    """
    groups, num_fields, num_targets = mask.shape
    weight = torch.stack(weights, 1) if _are_alike(weights) else torch.cat(weights, -1)
    bias = torch.stack(biases, 0) if _are_alike(biases) else torch.cat(biases, -1)
    rows = weight.reshape(num_fields, -1, *weight.shape[1:])
    axes = (groups, num_fields, *[1] * (rows.ndim - 3), num_targets, 1)
    masked = (rows * mask.reshape(axes)).reshape(groups, x.shape[2], -1)
    flat = x.reshape(groups, -1, x.shape[2])
    y = torch.baddbmm(bias.reshape(1, 1, -1), flat, masked).view(*x.shape[:2], *bias.shape)
    return (
        list(y.unbind(2))
        if _are_alike(weights)
        else list(y.split([w.shape[-1] for w in weights], -1))
    )


def _are_alike(tensors: list[Tensor]) -> bool:
    return all(t.shape == tensors[0].shape for t in tensors)


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
