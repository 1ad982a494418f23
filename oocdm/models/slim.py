"""The predictor of a single target under one graph, from nothing but its parents.

Under a sparse graph most of a network has nothing to do. Here each target is a small network of
its own: its weights hold only what its parents need, linear layers in a row are one, the units of
the prediction are part of the weights, and fields of few values are encoded beforehand. It
serves states of which everything is known, such as those that are simulated.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from oocdm.models.composed import LEAK
from oocdm.models.network import PATHS, AbstractClassModel
from oocdm.models.projection import Projection
from oocdm.models.view import View
from oocdm.models.wiring import Wiring


class SlimTarget:
    """The predictor of one target."""

    def __init__(self, model: AbstractClassModel, wiring: Wiring, c: str, v: str) -> None:
        self.model, self.c, self.v = model, c, v
        self.field = model.schema.field(c, v)
        self.i = model.schema.targets(c).index(v)
        self.own = _chosen(model.schema.fields(c), wiring.local(c)[0, :, self.i])
        self.others = {
            k: fields
            for k in model.schema.classes
            if (fields := _chosen(model.schema.fields(k), wiring.others(k, c)[0, :, self.i]))
        }
        paths = model.path_block(wiring.structures, c)[0, self.i]
        self.has_decoder, self.hears = (
            bool(paths[PATHS.index(path)] > 0) for path in ("decoder", "sum")
        )
        self._compose(wiring)

    # ---------------------------------------------------------------- weights

    def _compose(self, wiring: Wiring) -> None:
        model, i = self.model, self.i
        p, o = model.predictor(self.c), model.options
        d = o.local_dim
        parts = model.parts(wiring.structures, self.c)[0, i]
        self._compose_head()
        self.middle_weight, self.middle_bias = p.decoder_weight2[i], p.decoder_bias2[i]
        hidden = p.decoder_weight1[i] if self.has_decoder else p.decoder_weight1[i, :, :0]
        first = torch.cat([hidden, self._linear_map(parts)], 1)  # (feature, hidden + linear)
        bias = p.decoder_bias1[i]
        if o.structure_aware:
            bias = bias + parts @ p.structure_weight[i]
        bias = torch.cat(
            [bias[: hidden.shape[1]], bias.new_zeros(first.shape[1] - hidden.shape[1])]
        )
        self.num_hidden, self.width = hidden.shape[1], first.shape[1]
        weight = p.local_weight[:, i] @ first[:d]
        bias = bias + p.local_bias[i] @ first[:d]
        if self.hears:
            weight = torch.cat([weight, p.message_own[:, i]], 1)
            bias = torch.cat([bias, bias.new_zeros(o.message_dim)])
            self.message_weight = first[d : d + o.message_dim].contiguous()
            self._compose_senders()
        self.project_own = Projection(model, self.c, self.own, weight, bias)
        self._compose_extremes(wiring, first)

    def _linear_map(self, parts: Tensor) -> Tensor:
        """The linear map beside the decoder, in the units of the prediction: (feature, out)."""
        p, o, i = self.model.predictor(self.c), self.model.options, self.i
        if not o.linear_path:
            return p.decoder_weight1[i, :, :0]
        weight = p.linear_weight[i, 0]
        if o.structure_aware:
            weight = weight + torch.einsum("p,pfo->fo", parts, p.linear_weight[i, 1:])
        return weight[:, self.linear_columns] * self.linear_unit

    def _compose_senders(self) -> None:
        p, i = self.model.predictor(self.c), self.i
        self.senders = {
            k: Projection(self.model, k, fields, p.message_weight[k][:, i], p.message_bias[k][i])
            for k, fields in self.others.items()
        }
        self.equal_weights = {
            k: [
                (f, p.equal_weight[k][j, i])
                for j, f in enumerate(self.model.featuriser.equal_fields[k, self.c])
                if f in fields and f in self.own
            ]
            for k, fields in self.others.items()
        }

    def _compose_extremes(self, wiring: Wiring, first: Tensor) -> None:
        """The fields of others whose extremes are in use, and their rows of the first layer."""
        featuriser, c = self.model.featuriser, self.c
        columns = featuriser.extreme_columns[c]
        start = len(first) - len(columns)
        allowed = wiring.extremes(c)[0, self.i] > 0 if columns else first.new_zeros(0).bool()
        weights: dict[tuple[str, str], Tensor] = {}
        for k, fields in self.others.items():
            for f in fields:
                if (k, f) not in {(x.source_class, x.source_field) for x in columns}:
                    continue
                at = featuriser.extremes_at(k, f, c)
                if allowed[at].any():
                    # What is not allowed has no weight.
                    weights[k, f] = first[start:][at] * allowed[at].unsqueeze(1)
        self.extreme_fields = tuple(weights)
        self.extreme_weight = torch.cat([first[:0], *weights.values()])

    def _compose_head(self) -> None:
        """The last layer, of the needed outputs only and in the units of the prediction."""
        model, i, size = self.model, self.i, self.field.size
        p, scales = model.predictor(self.c), model.head_scales(self.c)
        self.adds_own = False
        if self.field.likelihood == "categorical":
            columns = np.arange(size * (self.field.num_values or 0))
            self.linear_columns = columns
            self.linear_unit = scales.value_sd.new_ones(())
            self.out_weight = p.decoder_weight3[i][:, columns].contiguous()
            self.out_bias = p.decoder_bias3[i][columns]
            return
        width = model.featuriser.components[self.c]
        self.adds_own = model.options.predict_change and self.v in self.own
        spread = scales.change_sd if self.adds_own else scales.value_sd
        centre = scales.change_mean if self.adds_own else scales.value_mean
        unit, value_sd = spread[i, :size], scales.value_sd[i, :size]
        self.unit, self.floor = unit, scales.sigma_floor[i, :size]
        self.low, self.high = float(scales.low[i]), float(scales.high[i])
        self.linear_columns = np.arange(size)
        self.linear_unit = (unit * value_sd).sqrt()
        weight, bias = p.decoder_weight3[i], p.decoder_bias3[i]
        mean, sigma = slice(size), slice(width, width + size)
        self.out_weight = torch.cat([weight[:, mean] * unit, weight[:, sigma]], 1)
        self.out_bias = torch.cat([bias[mean] * unit + centre[i, :size], bias[sigma]])

    # ---------------------------------------------------------------- use

    def __call__(self, view: View) -> tuple[Tensor, Tensor | None]:
        """Mean and sigma (batch * object, component), or logits (batch * object, all values).

        There is no second tensor beside logits.
        """
        batch, objects = view.now.present[self.c].shape
        first = self.project_own(view)
        if self.hears:
            first, ours = first.split_with_sizes([self.width, first.shape[1] - self.width], 1)
            heard = self._hear(view, ours.unflatten(0, (batch, objects)))
            first.addmm_(heard.flatten(0, 1), self.message_weight)
        if self.extreme_fields:
            first.addmm_(view.extremes(self.c, self.extreme_fields), self.extreme_weight)
        return self._finish(view, first)

    def _hear(self, view: View, ours: Tensor) -> Tensor:
        """One's own message and those of the others, summed: (batch, object, channel)."""
        batch, receivers, channels = ours.shape
        total = ours.relu()
        for k, project in self.senders.items():
            objects = view.now.present[k].shape[1]
            if objects == 0:
                continue
            theirs = project(view).view(batch, 1, objects, channels).permute(2, 0, 1, 3)
            # With the senders first in memory: sums over the first axis are the fastest.
            message = ours.new_empty(objects, batch, receivers, channels)
            torch.add(ours, theirs, out=message)
            for f, equal_weight in self.equal_weights[k]:
                is_equal = view.equal(k, self.c, f).permute(2, 0, 1).unsqueeze(-1)
                message.addcmul_(is_equal, equal_weight)
            absent = view.absent(k)
            if absent is not None:
                message.masked_fill_(absent.t()[:, :, None, None], -torch.inf)
            if k == self.c:
                message.diagonal(dim1=0, dim2=2).fill_(-torch.inf)
            total += message.relu_().sum(0)
        return total

    def _finish(self, view: View, first: Tensor) -> tuple[Tensor, Tensor | None]:
        num_linear = self.width - self.num_hidden
        hidden, linear = first.split_with_sizes([self.num_hidden, num_linear], 1)
        if self.has_decoder:
            hidden = functional.leaky_relu(hidden, LEAK)
            hidden = torch.addmm(self.middle_bias, hidden, self.middle_weight)
            out = torch.addmm(self.out_bias, functional.leaky_relu_(hidden, LEAK), self.out_weight)
        else:
            out = self.out_bias.expand(len(first), -1)
        if self.field.likelihood == "categorical":
            return out + linear if num_linear else out, None
        mean, raw = out.split_with_sizes([self.field.size] * 2, 1)
        mean = mean + linear if num_linear else mean.clone()
        if self.adds_own:
            mean.add_(view.numbers(self.c, self.v))
        if self.low > -torch.inf or self.high < torch.inf:
            mean.clamp_(self.low, self.high)
        # Without a decoder sigma does not depend on anything.
        raw = raw if self.has_decoder else raw[:1]
        sigma = functional.softplus(raw).mul_(self.unit).add_(self.model.options.sigma_floor)
        sigma.hypot_(self.floor)
        return mean, sigma if self.has_decoder else sigma.expand_as(mean)


def _chosen(fields: Mapping[str, object], flags: Tensor) -> tuple[str, ...]:
    return tuple(f for f, flag in zip(fields, flags.tolist(), strict=True) if flag > 0)
