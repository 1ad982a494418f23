"""The fast OOCDM: equal to the reference, with dense products instead of loops.

An encoding that the graph masks off is zero and the layer after it is linear, so masking the
*weights* gives the same as masking the activations. One product a pair of classes then serves
all target fields, and many structures at once cost one batched product.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from oocdm.models.features import Inputs
from oocdm.models.network import PATHS, AbstractWorldModel, Structures
from oocdm.models.prediction import Predictions

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

    def _decode_encoded(
        self, inputs: Inputs, encoded: dict[str, Tensor], structures: Structures
    ) -> Predictions:
        classes = {}
        for c in self.predictors:
            out, linear = self._predict(c, inputs, encoded, structures)
            has_self = self._spread(self._self_edges(c, structures), inputs)
            classes[c] = self.head(c, out, linear, inputs.values[c], has_self)
        return Predictions(self.schema, classes)

    def _spread(self, per_structure: Tensor, inputs: Inputs) -> Tensor:
        """Repeat a tensor with one row a structure so that it has one a sample (or just 1)."""
        if len(per_structure) == 1:
            return per_structure
        return per_structure.repeat_interleave(inputs.batch_size // len(per_structure), 0)

    def _self_edges(self, c: str, structures: Structures) -> Tensor:
        names, targets = list(self.schema.fields(c)), self.schema.targets(c)
        block = self.index.local_block(structures, c)
        return block[:, [names.index(v) for v in targets], list(range(len(targets)))]

    def _project(self, x: Tensor, weight: Tensor, mask: Tensor) -> Tensor:
        """Masked linear map of (batch, object, field * channel) -> (batch, object, target, out).

        `weight` is (field * channel, target, out), `mask` (graph, field, target).
        """
        num_groups, num_fields, num_targets = mask.shape
        out = weight.shape[-1]
        rows = weight.reshape(num_fields, -1, num_targets, out)
        masked = (rows * mask[:, :, None, :, None]).reshape(num_groups, -1, num_targets * out)
        batch, objects, width = x.shape
        flat = x.reshape(num_groups, -1, width)
        return torch.bmm(flat, masked).view(batch, objects, num_targets, out)

    def _predict(
        self, c: str, inputs: Inputs, encoded: dict[str, Tensor], structures: Structures
    ) -> tuple[Tensor, Tensor | None]:
        p, o = self.predictor(c), self.options
        local_mask = self.index.local_block(structures, c)
        weight: Tensor = p.local_weight
        if "sum" in o.aggregators:
            weight = torch.cat([weight, p.message_own], dim=-1)
        own = self._project(encoded[c], weight, local_mask)
        local = own[..., : o.local_dim] + p.local_bias
        parts = [local]
        paths = self._spread(self.path_block(structures, c), inputs).unbind(-1)
        decoder_gate, sum_gate, extremes_gate = (gate[:, None, :, None] for gate in paths)
        if "attention" in o.aggregators:
            parts.append(self._attend(c, inputs, encoded, structures, local))
        if "sum" in o.aggregators:
            messages = self._sum(c, inputs, encoded, structures, own[..., o.local_dim :])
            parts.append(messages * sum_gate)
        if self.featuriser.extreme_columns[c]:
            allowed = self._spread(self.extreme_block(structures, c), inputs)
            parts.append(inputs.extremes[c].unsqueeze(2) * (allowed.unsqueeze(1) * extremes_gate))
        h = torch.cat(parts, dim=-1)
        batch, objects, targets, width = h.shape
        x = h.reshape(batch * objects, targets, width).transpose(0, 1)
        hidden = torch.baddbmm(p.decoder_bias1.unsqueeze(1), x, p.decoder_weight1)
        present = self.parts(structures, c)
        if o.structure_aware:
            shift = torch.einsum("gsp,sph->gsh", present, p.structure_weight)
            shift = self._spread(shift, inputs).transpose(0, 1).unsqueeze(2)
            hidden = (hidden.unflatten(1, (batch, objects)) + shift).flatten(1, 2)
        hidden = functional.leaky_relu(hidden, LEAK)
        hidden = torch.baddbmm(p.decoder_bias2.unsqueeze(1), hidden, p.decoder_weight2)
        hidden = functional.leaky_relu(hidden, LEAK)
        out = torch.bmm(hidden, p.decoder_weight3).transpose(0, 1).unflatten(0, (batch, objects))
        out = out * decoder_gate + p.decoder_bias3
        linear = None
        if o.linear_path:
            linear = self._linear(h, p.linear_weight, present)
        return out, linear

    def _linear(self, h: Tensor, weight: Tensor, present: Tensor) -> Tensor:
        """The linear map of (batch, object, target, feature) for each structure's parts."""
        maps = weight[:, 0].unsqueeze(0)
        if weight.shape[1] > 1:
            maps = maps + torch.einsum("gsp,spwo->gswo", present, weight[:, 1:])
        batch, objects, targets, width = h.shape
        groups = len(maps)
        rows = (
            h.reshape(groups, -1, targets, width)
            .transpose(1, 2)
            .reshape(groups * targets, -1, width)
        )
        out = torch.bmm(rows, maps.flatten(0, 1)).unflatten(0, (groups, targets))
        return out.transpose(1, 2).reshape(batch, objects, targets, weight.shape[-1])

    # ---------------------------------------------------------------- other objects

    def _valid(self, c: str, k: str, inputs: Inputs, structures: Structures) -> Tensor:
        """Which sources count: (batch or 1, own object or 1, source object, target or 1)."""
        valid = inputs.present[k][:, None, :, None]
        if k == c:
            n = valid.shape[2]
            valid = valid & ~torch.eye(n, dtype=torch.bool, device=valid.device)[None, :, :, None]
        if self.options.skip_unrelated:
            active = self.index.global_block(structures, k, c).any(dim=1)
            valid = valid & self._spread(active, inputs)[:, None, None, :]
        return valid

    def _sum(
        self,
        c: str,
        inputs: Inputs,
        encoded: dict[str, Tensor],
        structures: Structures,
        own: Tensor,
    ) -> Tensor:
        """Messages from the other objects, summed: (batch, object, target, channel)."""
        total = torch.zeros_like(own)
        for k in self.schema.classes:
            live = self._live_targets(c, k, structures)
            if len(live) and encoded[k].shape[1]:
                message = self._messages(c, k, live, inputs, encoded[k], structures, own)
                total = total.index_add(2, live, message.sum(2))
        return total

    def _live_targets(self, c: str, k: str, structures: Structures) -> Tensor:
        """The targets of a class that read anything of another, under any of the structures."""
        reads = self.index.global_block(structures, k, c).any(1)
        if not self.options.skip_unrelated:
            reads = torch.ones_like(reads)
        reads = reads & (self.path_block(structures, c)[..., PATHS.index("sum")] > 0)
        return reads.any(0).nonzero().squeeze(1)

    def _messages(
        self,
        c: str,
        k: str,
        live: Tensor,
        inputs: Inputs,
        encoded: Tensor,
        structures: Structures,
        own: Tensor,
    ) -> Tensor:
        """ReLU of own and source parts: (batch, object, source object, live target, channel)."""
        p = self.predictor(c)
        mask = self.index.global_block(structures, k, c)
        if len(live) < own.shape[2]:
            own, mask = own[:, :, live], mask[:, :, live]
        weight, bias = p.message_weight[k][:, live], p.message_bias[k][live]
        # A source that does not count gets minus infinity, which the ReLU turns into nothing.
        valid = inputs.present[k][:, :, None]
        if self.options.skip_unrelated:
            valid = valid & self._spread(mask.any(dim=1), inputs)[:, None]
        source = self._project(encoded, weight, mask) + bias
        source = source.masked_fill(~valid.unsqueeze(-1), -torch.inf)
        message = own[:, :, None] + source[:, None]
        if self.featuriser.equal_fields[k, c]:
            message = message + self._equality(c, k, live, inputs, structures)
        if k == c:
            others = ~torch.eye(own.shape[1], dtype=torch.bool, device=own.device)
            return message.relu_() * others[None, :, :, None, None].to(message.dtype)
        return message.relu_()

    def _equality(
        self, c: str, k: str, live: Tensor, inputs: Inputs, structures: Structures
    ) -> Tensor:
        """What equal attributes add to messages: (batch, object, source, live target, channel)."""
        fields = self.featuriser.equal_fields[k, c]
        ours = [list(self.schema.fields(c)).index(f) for f in fields]
        theirs = [list(self.schema.fields(k)).index(f) for f in fields]
        both = (
            self.index.local_block(structures, c)[:, ours]
            * self.index.global_block(structures, k, c)[:, theirs]
        )
        each = both.unsqueeze(-1) * self.predictor(c).equal_weight[k]
        weight = self._spread(each[:, :, live], inputs)
        same = inputs.equal[k, c]
        total = same[..., 0, None, None] * weight[:, None, None, 0]
        for i in range(1, len(fields)):
            total = total + same[..., i, None, None] * weight[:, None, None, i]
        return total

    def _attend(
        self,
        c: str,
        inputs: Inputs,
        encoded: dict[str, Tensor],
        structures: Structures,
        local: Tensor,
    ) -> Tensor:
        """Attention over all other objects: (batch, object, target, local_dim)."""
        p, o = self.predictor(c), self.options
        keys, values, valids = [], [], []
        batch, objects, targets, d = local.shape
        for k in self.schema.classes:
            mask = self.index.global_block(structures, k, c)
            if encoded[k].shape[1] == 0 or (o.skip_unrelated and not mask.any()):
                continue
            # Two linear layers in a row are one.
            weight = p.global_weight[k].transpose(0, 1)
            both = torch.cat([p.key_weight, p.value_weight], dim=-1)
            composed = torch.bmm(weight, both).transpose(0, 1)
            bias = torch.bmm(p.global_bias[k].unsqueeze(1), both).squeeze(1)
            source = self._project(encoded[k], composed, mask) + bias
            keys.append(source[..., :d] + p.key_bias)
            values.append(source[..., d:] + p.value_bias)
            valid = self._valid(c, k, inputs, structures)
            n = encoded[k].shape[1]
            valids.append(valid.expand(batch, objects, n, targets))
        if not keys:
            return torch.zeros_like(local)
        query = torch.einsum("bnsd,sde->bnse", local, p.query_weight) + p.query_bias
        split = (o.heads, d // o.heads)
        q = query.unflatten(-1, split).permute(0, 2, 3, 1, 4)
        key = torch.cat(keys, 1).unflatten(-1, split).permute(0, 2, 3, 1, 4)
        value = torch.cat(values, 1).unflatten(-1, split).permute(0, 2, 3, 1, 4)
        allowed = torch.cat(valids, 2).permute(0, 3, 1, 2).unsqueeze(2)
        scores = (q @ key.transpose(-1, -2)) / d**0.5
        scores = scores.masked_fill(~allowed, -torch.inf)
        # A row with no source at all attends to nothing and gives zero.
        top = scores.amax(-1, keepdim=True)
        weights = (scores - torch.where(top.isfinite(), top, 0.0)).exp()
        total = weights.sum(-1, keepdim=True)
        attended = (weights @ value) / torch.where(total > 0, total, 1.0)
        return attended.permute(0, 3, 1, 2, 4).flatten(-2)
