"""Which targets are predicted as mixtures in the end, judged on held-out transitions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy  # whose `stats` loads when it is first used: half a second
import torch
from torch import Tensor

from oocdm.discovery.gains import gains_of_clusters
from oocdm.graph import Structure
from oocdm.models.prediction import ClassPrediction, Predictions
from oocdm.models.prepared import Prepared
from oocdm.models.world_model import AbstractWorldModel

LEAST_GAIN = 0.01  # nats a value that a mixture must be better by
ERROR_RATE = 0.01  # of the test that it is better at all
CHUNK = 4096


@torch.no_grad()
def choose_likelihoods(
    model: AbstractWorldModel,
    structure: Structure,
    data: Prepared,
    resolution: Mapping[str, Tensor] | None,
) -> None:
    """Of the targets whose likelihood is "auto", keep as mixtures those that must be.

    A mixture is kept if on held-out transitions it surely beats the normal of the same mean and
    variance, and by more than a trifle; scores are blurred as they were learned. The others are
    normals from now on. What users said stays as it is.
    """
    heads = {c: model.heads[c] for c in model.schema.classes if model.heads[c].has_auto}
    if not heads:
        return
    structures = model.structures(structure)
    gains: dict[str, list[Tensor]] = {c: [] for c in heads}
    known: dict[str, list[Tensor]] = {c: [] for c in heads}
    for chunk in data.chunks(CHUNK, lambda some: model(some.inputs, structures)):
        (found,) = model(chunk.inputs, structures)
        alone = Predictions(model.schema, {c: as_normal(found.classes[c]) for c in heads})
        ours, theirs = (p.log_prob(chunk.targets, resolution) for p in (found, alone))
        for c in heads:
            gains[c].append((ours[c] - theirs[c]).double().sum(1).cpu())
            known[c].append(chunk.targets.known[c].sum(1).cpu())
    for c, head in heads.items():
        is_better = _is_better(torch.cat(gains[c]), torch.cat(known[c]), data.cluster)
        head.choose(torch.as_tensor(is_better))


def as_normal(prediction: ClassPrediction) -> ClassPrediction:
    """Mixtures as the normals of the same mean and variance; all else as it is.

    >>> one = torch.ones(1, 1, 1, 1)
    >>> from oocdm.models.prediction import WidePart
    >>> wide = WidePart(5 * one, 3 * one, one / 2, torch.tensor([True]))
    >>> normal = as_normal(ClassPrediction(one, one, {}, wide))
    >>> normal.mean.item(), normal.sigma.item()
    (3.0, 3.0)
    """
    if (wide := prediction.wide) is None:
        return prediction
    apart = wide.chance * (1 - wide.chance) * (wide.mean - prediction.mean).square()
    variance = torch.lerp(prediction.sigma.square(), wide.sigma.square(), wide.chance) + apart
    is_mixture = wide.is_mixture.unsqueeze(-1)
    mean = torch.lerp(prediction.mean, wide.mean, wide.chance)
    return ClassPrediction(
        torch.where(is_mixture, mean, prediction.mean),
        torch.where(is_mixture, variance.sqrt(), prediction.sigma),
        prediction.logits,
    )


def _is_better(gains: Tensor, known: Tensor, cluster: Tensor) -> np.ndarray:
    """Which targets gain surely, and enough; (transition, target) gains, and values that count."""
    found = gains_of_clusters(gains, known, cluster)
    error = np.maximum(found.error, np.finfo(float).tiny)
    p_value = scipy.stats.t.sf(found.mean / error, np.maximum(found.groups - 1, 1))
    better: np.ndarray = (found.mean > LEAST_GAIN) & (p_value < ERROR_RATE)
    return better
