"""How far a fitted model is below the truth of a generated world; whether its intervals hold."""

from __future__ import annotations

import math

import numpy as np
import torch

from oocdm.data.dataset import Dataset
from oocdm.envs.generated import GeneratedWorld, Truth
from oocdm.inference import evaluate
from oocdm.inference.fitted import predictor
from oocdm.models.mixture_field import MixtureField
from oocdm.models.normal_field import NormalField
from oocdm.models.prediction import CategoricalField, FieldPredictions
from oocdm.training import FitResult


@torch.no_grad()
def score_fields(
    result: FitResult, world: GeneratedWorld, data: Dataset
) -> dict[str, dict[str, float | None]]:
    """Of each field: nats a number below the truth, and how much 90 % intervals cover.

    Model and truth are scored on the same jittered targets. Coverage is that of the values as
    they are; choices among categories have none. The model predicts with the graph that it
    predicts with by default.
    """
    truth, reports = world.truth(data), evaluate(result, data).fields
    predictions = predictor(result, doubts=True)(data.transitions().before)
    found = {}
    for c, fields in truth.targets.items():
        for f in fields:
            if truth.known[c][f].any():
                below = truth.nats_below((c, f), blurred_scores(predictions, truth, c, f))
                # No number is as far below the truth as can be, and JSON has no word for it.
                found[f"{c}.{f}"] = {
                    "nats_below": below if math.isfinite(below) else None,
                    "coverage": reports[f"{c}.{f}"].coverage,
                }
    return found


def blurred_scores(predictions: FieldPredictions, truth: Truth, c: str, f: str) -> np.ndarray:
    """Log-densities of a field's jittered targets under what was predicted for them.

    Normals, and both parts of mixtures, become as much wider as the targets were jittered;
    categories are not jittered. Any other distribution tells its own density under the blur:
    `log_prob(values, blur)`.
    """
    found, values = predictions[c, f], truth.targets[c][f]
    if isinstance(found, CategoricalField):
        # Rows that are no objects hold 0, which need not be one of the field's values.
        codes = found.field.to_codes(torch.from_numpy(values.astype(np.int64))).clamp(min=0)
        chosen = found.log_probabilities.cpu().gather(-1, codes.unsqueeze(-1)).squeeze(-1)
        return np.asarray(chosen.double().numpy())

    def score(normal: NormalField) -> np.ndarray:
        mean, sigma = (v.cpu().double().numpy() for v in (normal.mean, normal.sigma))
        return truth.score_normal((c, f), mean, sigma)

    if isinstance(found, NormalField):
        return score(found)
    if isinstance(found, MixtureField):
        chance = found.chance.cpu().double().numpy()
        narrow, wide = score(found.narrow) + np.log1p(-chance), score(found.wide) + np.log(chance)
        return np.asarray(np.logaddexp(narrow, wide))
    blur = torch.from_numpy(np.asarray(truth.blur[c, f], np.float64))
    scores = found.log_prob(torch.from_numpy(values.astype(np.float64)), blur)
    return np.asarray(scores.cpu().double().numpy())
