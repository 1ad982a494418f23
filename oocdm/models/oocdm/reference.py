"""The literal evaluator, as the paper's appendix writes it: the measure of correctness and cost.

For every target field the attribute encodings of all objects are masked by the graph and
concatenated to object encodings, with who the object is behind them if the model knows that, which
no graph masks; from these each part makes features, then comes the distribution
embedding, then the distribution. Vectorised over samples and objects only.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from oocdm.models.features import Inputs, PerClass
from oocdm.models.head import Head
from oocdm.models.oocdm.encoder import Encoder
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.network import NAME
from oocdm.models.oocdm.parts.part import SeenByTarget
from oocdm.models.oocdm.predictor import ClassPredictor
from oocdm.models.oocdm.products import NAME as PRODUCTS
from oocdm.models.prediction import ClassPrediction

# [class][field]: an attribute of all objects of a class, encoded: (batch, object, channel).
Encodings = Mapping[str, Mapping[str, Tensor]]


def encode_literally(encoders: Mapping[str, Encoder], inputs: Inputs) -> Encodings:
    """Attribute encoders: a small network for each field."""
    return {
        c: {f: encoder.literal(i, inputs.features[c]) for i, f in enumerate(encoder.fields)}
        for c, encoder in encoders.items()
    }


def predict_literally(
    predictor: ClassPredictor,
    inputs: Inputs,
    encodings: Encodings,
    identities: PerClass,
    masks: Masks,
    head: Head,
    targets: list[str] | None = None,
) -> ClassPrediction:
    """Predictions of one class, one target after the other; masked activations.

    With `targets` only those are computed; the rows of the others mean nothing.
    """
    # The batch is divided evenly among the structures: each sample gets its own row.
    rows = masks.spread(masks.structures, inputs.batch_size).expand(inputs.batch_size, -1)
    masks, c = Masks(masks.layout, rows), predictor.c
    chosen = list(head.targets) if targets is None else targets
    found = {v: _predict(predictor, v, head, inputs, encodings, identities, masks) for v in chosen}
    each = [found.get(v, found[chosen[0]]) for v in head.targets]
    out = torch.stack([out for out, _ in each], dim=2)
    lines = [linear for _, linear in each if linear is not None]
    linear = torch.stack(lines, dim=2) if lines else None
    has_self = masks.self_edges(c).unsqueeze(1)
    return head(out, linear, inputs.values[c], inputs.known[c], has_self)


def _predict(
    predictor: ClassPredictor,
    v: str,
    head: Head,
    inputs: Inputs,
    encodings: Encodings,
    identities: PerClass,
    masks: Masks,
) -> tuple[Tensor, Tensor | None]:
    """Outputs of the network and of the linear map beside it: (batch, object, output)."""
    c, i = predictor.c, list(head.targets).index(v)
    seen = _seen(predictor, i, inputs, encodings, identities, masks)

    def is_on(path: str) -> Tensor:
        return masks.path(c, path)[:, i, None, None]

    features = torch.cat(
        [part.literal(i, seen) * is_on(part.name) for part, _ in predictor.features()], dim=-1
    )
    elements = masks.elements(c)[:, i]
    out = predictor.network.literal(i, features, elements, is_on(NAME))
    if predictor.linear_map is None:
        return out, None
    beside = predictor.linear_map.literal(i, features, elements)
    if predictor.products is not None:
        beside = beside + predictor.products.literal(i, features, is_on(PRODUCTS))
    return out, beside


def _seen(
    predictor: ClassPredictor,
    i: int,
    inputs: Inputs,
    encodings: Encodings,
    identities: PerClass,
    masks: Masks,
) -> SeenByTarget:
    c, schema = predictor.c, masks.schema

    def by_field(k: str, block: Tensor) -> dict[str, Tensor]:
        return dict(zip(schema.fields(k), block[:, :, i, None, None].unbind(1), strict=True))

    def with_identity(k: str, parents: Mapping[str, Tensor]) -> Tensor:
        codes = _mask(encodings[k], parents)
        if k not in identities:
            return codes
        return torch.cat([codes, identities[k].expand(len(codes), -1, -1)], dim=-1)

    local = by_field(c, masks.local(c))
    edges = {k: by_field(k, masks.others(k, c)) for k in schema.classes}
    allowed = {}
    for k in schema.classes:
        counts = inputs.present[k].unsqueeze(1).repeat(1, inputs.present[c].shape[1], 1)
        if k == c:
            counts &= ~torch.eye(counts.shape[1], dtype=torch.bool, device=counts.device)
        if predictor.options.skip_unrelated:
            counts &= torch.cat(list(edges[k].values()), dim=1).any(1, keepdim=True)
        allowed[k] = counts
    return SeenByTarget(
        inputs,
        with_identity(c, local),
        {k: with_identity(k, edges[k]) for k in schema.classes},
        local,
        edges,
        allowed,
        identities,
    )


def _mask(encodings: Mapping[str, Tensor], parents: Mapping[str, Tensor]) -> Tensor:
    """Object encodings: all attributes side by side, 0 where they are not parents."""
    return torch.cat([code * parents[f] for f, code in encodings.items()], dim=-1)
