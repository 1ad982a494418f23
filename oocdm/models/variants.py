"""The same samples under many structures that differ in a few parts, at the cost of a few.

A masked linear layer is a sum of one contribution a field. The contributions are made once;
what a structure lets through is a sum of some of them. Structures that agree on the local
edges, or on the edges from one class, share what depends on those alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from oocdm.models.features import Inputs
from oocdm.models.network import AbstractWorldModel
from oocdm.models.parameters import PredictorParameters
from oocdm.models.wiring import Wiring


@dataclass(frozen=True)
class Distinct:
    """The different masks among those of many structures, and which one each has."""

    masks: Tensor  # (variant, field, target)
    which: np.ndarray  # (structure,)

    @staticmethod
    def of(block: Tensor) -> Distinct:
        """Of the masks of many structures: (structure, field, target)."""
        rows = block.flatten(1).cpu().numpy()
        _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return Distinct(block[torch.as_tensor(first, device=block.device)], which.reshape(-1))

    def __len__(self) -> int:
        return len(self.masks)


def project_variants(x: Tensor, weight: Tensor, bias: Tensor, masks: Tensor) -> Tensor:
    """Masked linear maps (target, variant, batch, object, out) of encoded attributes.

    `x` is (batch, object, field * channel), `weight` (field * channel, target, out), `bias`
    (target, out) and `masks` (variant, field, target).
    """
    (batch, objects, width), fields = x.shape, masks.shape[1]
    rows = x.reshape(-1, fields, width // fields).transpose(0, 1)
    each = torch.bmm(rows, weight.reshape(fields, width // fields, -1))
    each = each.unflatten(2, weight.shape[1:]).permute(2, 0, 1, 3).flatten(2)
    sums = torch.bmm(masks.permute(2, 0, 1), each)
    sums = sums.view(*sums.shape[:2], batch, objects, weight.shape[2])
    return sums.add_(bias[:, None, None, None])


class VariantEmbedding:
    """The embeddings of one class's targets under many structures, for the same samples."""

    def __init__(
        self,
        model: AbstractWorldModel,
        c: str,
        inputs: Inputs,
        encoded: dict[str, Tensor],
        wiring: Wiring,
    ) -> None:
        self.model, self.c = model, c
        self.inputs, self.encoded, self.wiring = inputs, encoded, wiring
        self.predictor: PredictorParameters = model.predictor(c)
        self.local = Distinct.of(wiring.local(c))
        # A class without any object sends nothing.
        self.others = {
            k: Distinct.of(wiring.others(k, c))
            for k in model.schema.classes
            if encoded[k].shape[1] > 0
        }

    def embed(self) -> Tensor:
        """What the decoders see: (target, structure, batch, object, feature)."""
        p, o = self.predictor, self.model.options
        local = self._own(p.local_weight, p.local_bias)
        parts = [local[:, self.local.which]]
        if "attention" in o.aggregators:
            parts.append(self._attend(local))
        if "sum" in o.aggregators:
            own = self._own(p.message_own, torch.zeros_like(p.message_own[0]))
            parts.append(self._sum(own))
        if self.model.featuriser.extreme_columns[self.c]:
            allowed = self.wiring.extremes(self.c).transpose(0, 1)[:, :, None, None]
            parts.append(self.inputs.extremes[self.c] * allowed)
        return torch.cat(parts, dim=-1)

    def _own(self, weight: Tensor, bias: Tensor) -> Tensor:
        return project_variants(self.encoded[self.c], weight, bias, self.local.masks)

    def _flags(self, flags: np.ndarray) -> Tensor:
        """Flags (structure, target) as numbers: (target, structure)."""
        return torch.as_tensor(flags.T, dtype=self.model.dtype, device=self.model.device)

    # ---------------------------------------------------------------- messages

    def _sum(self, own: Tensor) -> Tensor:
        num = len(self.wiring.structures)
        total = own.new_zeros(own.shape[0], num, *own.shape[2:])
        has_path = self.wiring.has_path(self.c, "sum")
        for k, distinct in self.others.items():
            is_open = has_path
            if self.model.options.skip_unrelated:
                is_open = is_open & self.wiring.reads(k, self.c)
            flags = self._flags(is_open)[:, :, None, None, None]
            p = self.predictor
            source = project_variants(
                self.encoded[k], p.message_weight[k], p.message_bias[k], distinct.masks
            )
            absent = ~self.inputs.present[k][:, :, None]
            source.masked_fill_(absent, -torch.inf)
            equality = self._equality(k)
            pairs = np.stack([self.local.which, distinct.which], 1)
            for i, j in np.unique(pairs, axis=0):
                rows = np.flatnonzero((pairs == (i, j)).all(1))
                if not is_open[rows].any():
                    continue
                message = own[:, i, :, :, None] + source[:, j, :, None]
                if equality is not None:
                    message += equality(i, j)
                message.relu_()
                added = message.sum(3)
                if k == self.c:
                    added -= message.diagonal(dim1=2, dim2=3).transpose(2, 3)
                total[:, rows] += added.unsqueeze(1) * flags[:, rows]
        return total

    def _equality(self, k: str) -> Callable[[int, int], Tensor] | None:
        """What equal attributes add to messages, for a pair of variants."""
        schema, c = self.model.schema, self.c
        fields = self.model.featuriser.equal_fields[k, c]
        if not fields:
            return None
        ours = [list(schema.fields(c)).index(f) for f in fields]
        theirs = [list(schema.fields(k)).index(f) for f in fields]
        same = self.inputs.equal[k, c]

        def add(i: int, j: int) -> Tensor:
            both = self.local.masks[i, ours] * self.others[k].masks[j, theirs]
            weight = (both.unsqueeze(-1) * self.predictor.equal_weight[k]).transpose(0, 1)
            return torch.matmul(same.flatten(0, 2), weight).unflatten(1, same.shape[:3])

        return add

    # ---------------------------------------------------------------- attention

    def _attend(self, local: Tensor) -> Tensor:
        p, heads = self.predictor, self.model.options.heads
        d = local.shape[-1]
        flat = torch.baddbmm(p.query_bias.unsqueeze(1), local.flatten(1, 3), p.query_weight)
        query = flat.view_as(local)
        query = _by_head(query * d**-0.5, heads)
        scores, sources = [], []
        for k, distinct in self.others.items():
            both = torch.cat([p.key_weight, p.value_weight], dim=-1)
            weight = torch.bmm(p.global_weight[k].transpose(0, 1), both).transpose(0, 1)
            bias = torch.bmm(p.global_bias[k].unsqueeze(1), both).squeeze(1)
            bias = bias + torch.cat([p.key_bias, p.value_bias], dim=-1)
            source = project_variants(self.encoded[k], weight, bias, distinct.masks)
            key, value = (_by_head(t, heads) for t in source.split(d, -1))
            scores.append(self._scores(k, query, key))
            sources.append(value)
        if not scores:
            return local.new_zeros(len(local), len(self.wiring.structures), *local.shape[2:])
        weights = torch.cat(scores, dim=-1)
        top = weights.amax(-1, keepdim=True).clamp_(min=torch.finfo(weights.dtype).min)
        weights = weights.sub_(top).exp_()
        total = weights.sum(-1, keepdim=True)
        weights.div_(total.add_(total == 0))
        counts = [value.shape[-2] for value in sources]
        attended = (
            torch.zeros_like(weights[..., :1]).expand(*weights.shape[:-1], d // heads).clone()
        )
        for distinct, value, weight in zip(
            self.others.values(), sources, weights.split(counts, -1), strict=True
        ):
            for j in range(len(distinct)):
                rows = np.flatnonzero(distinct.which == j)
                # (structure, target, head, batch, object, source): structures beside objects
                chosen = weight[rows].permute(1, 2, 3, 0, 4, 5).flatten(3, 4)
                added = torch.matmul(chosen, value[:, :, :, j]).unflatten(3, (len(rows), -1))
                attended[rows] += added.permute(3, 0, 1, 2, 4, 5)
        # (structure, target, head, batch, object, channel)
        return attended.permute(1, 0, 3, 4, 2, 5).flatten(-2)

    def _scores(self, k: str, query: Tensor, key: Tensor) -> Tensor:
        """Scores (structure, target, head, batch, object, source); -inf where none is."""
        num_own, num_others = query.shape[3], key.shape[3]
        table = torch.matmul(query.flatten(3, 4), key.flatten(3, 4).transpose(-1, -2))
        table = table.unflatten(4, (num_others, -1)).unflatten(3, (num_own, -1))
        ours = torch.as_tensor(self.local.which, device=table.device)
        theirs = torch.as_tensor(self.others[k].which, device=table.device)
        scores = table[:, :, :, ours, :, theirs]
        is_source = self.inputs.present[k].unsqueeze(1)
        if k == self.c:
            n = is_source.shape[2]
            is_source = is_source & ~torch.eye(n, dtype=torch.bool, device=is_source.device)
        if not is_source.all():
            scores.masked_fill_(~is_source, -torch.inf)
        if self.model.options.skip_unrelated:
            is_closed = ~torch.as_tensor(self.wiring.reads(k, self.c), device=scores.device)
            scores.masked_fill_(is_closed[:, :, None, None, None, None], -torch.inf)
        return scores


def _by_head(x: Tensor, heads: int) -> Tensor:
    """(target, variant, batch, object, dim) -> (target, head, batch, variant, object, channel)."""
    return x.unflatten(-1, (heads, -1)).permute(0, 4, 2, 1, 3, 5)
