"""The OOCDM as the paper's appendix writes it: the measure of correctness and of cost.

For every target field the attribute encodings of all objects are masked by the graph and
concatenated to object encodings; from these come query, keys and values, then the
distribution embedding, then the distribution. Vectorised over samples and objects only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from oocdm.errors import ModelError
from oocdm.models.features import Inputs
from oocdm.models.network import AbstractClassModel
from oocdm.models.prediction import ClassPrediction, Predictions
from oocdm.models.world_model import Structures

LEAK = 0.01

# [field]: an attribute of all objects of a class, encoded: (batch, object, channel).
Encodings = Mapping[str, Tensor]
# [class]: all objects of a class as one target sees them: (batch, object, field * channel).
ObjectEncodings = Mapping[str, Tensor]


@dataclass(frozen=True)
class Parents:
    """What one target field may see in each sample, as numbers 0 and 1: (batch, 1, 1) each.

    `local[field]` are the object's own attributes, `others[class][field]` those of other objects.
    """

    local: Mapping[str, Tensor]
    others: Mapping[str, Mapping[str, Tensor]]
    decoder: Tensor
    sum: Tensor
    extremes: Tensor

    def side_by_side(self) -> Tensor:
        """All of it: (batch, part)."""
        edges = [
            *self.local.values(),
            *(x for fields in self.others.values() for x in fields.values()),
        ]
        return torch.cat([*edges, self.decoder, self.sum, self.extremes], dim=1).squeeze(2)


class ReferenceModel(AbstractClassModel):
    """OOCDM, literally: masked activations, one target field after the other."""

    def decode(self, inputs: Inputs, structures: Structures) -> Predictions:
        self._check_shares(inputs, structures)
        encodings, structures = self._encode(inputs), _one_a_sample(structures, inputs)
        classes = {}
        for c in self.predictors:
            rows = [
                self._predict(c, v, inputs, encodings, structures) for v in self.schema.targets(c)
            ]
            out = torch.stack([out for out, _ in rows], dim=2)
            lines = [linear for _, linear in rows if linear is not None]
            linear = torch.stack(lines, dim=2) if lines else None
            classes[c] = self._finish(c, out, linear, inputs, structures)
        return Predictions(self.schema, classes)

    def decode_target(
        self, inputs: Inputs, structures: Structures, class_name: str, field_name: str
    ) -> Predictions:
        """Predictions of one class, of which one target field was computed; like `decode`."""
        if not self.schema.field(class_name, field_name).is_target:
            raise ModelError(f"Field `{class_name}.{field_name}` is not predicted: no state field.")
        encodings, structures = self._encode(inputs), _one_a_sample(structures, inputs)
        out, linear = self._predict(class_name, field_name, inputs, encodings, structures)
        # The head is made for all targets of a class: here all rows but one go unused.
        rows = (-1, -1, len(self.schema.targets(class_name)), -1)
        out = out.unsqueeze(2).expand(rows)
        linear = None if linear is None else linear.unsqueeze(2).expand(rows)
        prediction = self._finish(class_name, out, linear, inputs, structures)
        return Predictions(self.schema, {class_name: prediction})

    def _finish(
        self, c: str, out: Tensor, linear: Tensor | None, inputs: Inputs, structures: Structures
    ) -> ClassPrediction:
        parents = [self._parents(c, v, structures).local[v] for v in self.schema.targets(c)]
        has_self = torch.cat(parents, dim=1).squeeze(2)
        return self.head(c, out, linear, inputs, has_self.unsqueeze(1))

    # ---------------------------------------------------------------- encodings

    def _encode(self, inputs: Inputs) -> dict[str, Encodings]:
        """Attribute encoders: a small network for each field."""
        return {
            c: {f: self._encode_field(c, i, f, inputs) for i, f in enumerate(self.schema.fields(c))}
            for c in self.schema.classes
        }

    def _encode_field(self, c: str, i: int, f: str, inputs: Inputs) -> Tensor:
        p, features = self.encoder(c), inputs.features[c][:, :, i]
        width = self.featuriser.field_width(c, f)
        hidden = features[..., :width] @ p.hidden_weight[i, :width] + p.hidden_bias[i]
        hidden = functional.leaky_relu(hidden, LEAK)
        code = (hidden @ p.weight[i] + p.bias[i]).relu()
        if self.options.enrich:
            code = torch.cat([code, features[..., : self.featuriser.raw_width[c]]], dim=-1)
        return code

    def _parents(self, c: str, v: str, structures: Structures) -> Parents:
        def by_field(k: str, block: Tensor) -> dict[str, Tensor]:
            columns = block[:, :, i, None, None].unbind(1)
            return dict(zip(self.schema.fields(k), columns, strict=True))

        i = self.schema.targets(c).index(v)
        return Parents(
            by_field(c, self.index.local_block(structures, c)),
            {
                k: by_field(k, self.index.global_block(structures, k, c))
                for k in self.schema.classes
            },
            *self.path_block(structures, c)[:, i, :, None, None].unbind(1),
        )

    # ---------------------------------------------------------------- one target field

    def _predict(
        self,
        c: str,
        v: str,
        inputs: Inputs,
        encodings: Mapping[str, Encodings],
        structures: Structures,
    ) -> tuple[Tensor, Tensor | None]:
        """Outputs of the decoder and of the linear map beside it: (batch, object, output)."""
        p, o = self.predictor(c), self.options
        i = self.schema.targets(c).index(v)
        parents = self._parents(c, v, structures)
        own = _mask(encodings[c], parents.local)
        others = {k: _mask(encodings[k], parents.others[k]) for k in self.schema.classes}
        local = own @ p.local_weight[:, i] + p.local_bias[i]
        embedding = [local]
        if "attention" in o.aggregators:
            embedding.append(self._attend(c, i, local, others, inputs, parents))
        if "sum" in o.aggregators:
            messages = self._sum_messages(c, i, own, others, inputs, parents)
            embedding.append(messages * parents.sum)
        if self.featuriser.extreme_columns[c]:
            embedding.append(self._mask_extremes(c, inputs, parents) * parents.extremes)
        h = torch.cat(embedding, dim=-1)
        hidden = h @ p.decoder_weight1[i] + p.decoder_bias1[i]
        if o.structure_aware:
            hidden = hidden + (parents.side_by_side() @ p.structure_weight[i]).unsqueeze(1)
        hidden = functional.leaky_relu(hidden, LEAK)
        hidden = functional.leaky_relu(hidden @ p.decoder_weight2[i] + p.decoder_bias2[i], LEAK)
        out = (hidden @ p.decoder_weight3[i]) * parents.decoder + p.decoder_bias3[i]
        if not o.linear_path:
            return out, None
        weight = p.linear_weight[i, 0]
        if o.structure_aware:
            extra = parents.side_by_side() @ p.linear_weight[i, 1:].flatten(1)
            weight = weight + extra.unflatten(1, weight.shape)
        return out, h @ weight

    def _allowed(self, c: str, k: str, inputs: Inputs, parents: Parents) -> Tensor:
        """Which objects of class k count for which of class c: (batch, object, source)."""
        allowed = inputs.present[k].unsqueeze(1).repeat(1, inputs.present[c].shape[1], 1)
        if k == c:
            allowed &= ~torch.eye(allowed.shape[1], dtype=torch.bool, device=allowed.device)
        if self.options.skip_unrelated:
            allowed &= torch.cat(list(parents.others[k].values()), dim=1).any(1, keepdim=True)
        return allowed

    def _attend(
        self,
        c: str,
        i: int,
        local: Tensor,
        others: ObjectEncodings,
        inputs: Inputs,
        parents: Parents,
    ) -> Tensor:
        """Key-value attention over all other objects: (batch, object, local_dim)."""
        p, o = self.predictor(c), self.options
        query = local @ p.query_weight[i] + p.query_bias[i]
        keys, values, allowed = [], [], []
        for k, x in others.items():
            code = x @ p.global_weight[k][:, i] + p.global_bias[k][i]
            keys.append(code @ p.key_weight[i] + p.key_bias[i])
            values.append(code @ p.value_weight[i] + p.value_bias[i])
            allowed.append(self._allowed(c, k, inputs, parents))
        heads = [
            rows.unflatten(-1, (o.heads, -1)).transpose(1, 2)
            for rows in (query, torch.cat(keys, dim=1), torch.cat(values, dim=1))
        ]
        is_source = torch.cat(allowed, dim=2).unsqueeze(1)
        scores = heads[0] @ heads[1].transpose(-1, -2) / o.local_dim**0.5
        # The lowest number instead of -inf: an object without sources must get 0, not NaN.
        scores = scores.masked_fill(~is_source, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=-1) * is_source
        return (weights @ heads[2]).transpose(1, 2).flatten(2)

    def _sum_messages(
        self,
        c: str,
        i: int,
        own: Tensor,
        others: ObjectEncodings,
        inputs: Inputs,
        parents: Parents,
    ) -> Tensor:
        """Messages that see both objects, summed, beside one's own: (batch, object, channel)."""
        p = self.predictor(c)
        ours = own @ p.message_own[:, i]
        total = ours.relu()
        for k, x in others.items():
            theirs = x @ p.message_weight[k][:, i] + p.message_bias[k][i]
            message = ours.unsqueeze(2) + theirs.unsqueeze(1)
            for j, f in enumerate(self.featuriser.equal_fields[k, c]):
                is_equal = inputs.equal[k, c][..., j] * parents.local[f] * parents.others[k][f]
                message = message + is_equal.unsqueeze(-1) * p.equal_weight[k][j, i]
            allowed = self._allowed(c, k, inputs, parents).unsqueeze(-1)
            total = total + (message.relu() * allowed).sum(2)
        return total

    def _mask_extremes(self, c: str, inputs: Inputs, parents: Parents) -> Tensor:
        """The extremes over other objects that the graph allows: (batch, object, column)."""
        masks = []
        for column in self.featuriser.extreme_columns[c]:
            mask = parents.others[column.source_class][column.source_field]
            if column.is_difference:
                mask = mask * parents.local[column.source_field]
            masks.append(mask)
        return inputs.extremes[c] * torch.cat(masks, dim=2)


def _mask(encodings: Encodings, parents: Mapping[str, Tensor]) -> Tensor:
    """Object encodings: all attributes side by side, 0 where they are not parents."""
    return torch.cat([code * parents[f] for f, code in encodings.items()], dim=-1)


def _one_a_sample(structures: Structures, inputs: Inputs) -> Structures:
    """The batch is divided evenly among the structures; give each sample its own row."""
    return structures.repeat_interleave(inputs.batch_size // len(structures), dim=0)
