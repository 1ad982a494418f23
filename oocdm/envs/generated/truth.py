"""How likely logged steps are under the true distributions of their world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.data.log import Arrays
from oocdm.envs.generated.blueprint import Blueprint
from oocdm.envs.generated.distribution import log_normal, log_rounded, log_whole
from oocdm.schema import FieldKey, Schema
from oocdm.worlds.world import WorldState

BLUR = 0.01  # of a field's usual change


@dataclass(frozen=True)
class Truth:
    """The true log-likelihood of a dataset, and the jittered targets that it is that of.

    Numbers get normal noise of standard deviation `blur`, one a component of a field, so that
    fields without noise have a density; categories stay as they are. A model is compared on the
    same `targets`: `score_normal` scores its normals, categories are scored as they are, and
    `nats_below` tells how far its scores are below the truth.

    `targets`, `scores` and `known` are by class and field: (transition, object) and the axis of
    vectors, in the order of `data.transitions()`; `known` tells the values that count.
    `log_likelihood` is the mean of the scores, in nats a number, by names as "A.x1".
    """

    schema: Schema
    blur: Mapping[tuple[str, str], np.ndarray]
    targets: Arrays
    scores: Arrays
    known: Arrays

    @property
    def log_likelihood(self) -> dict[str, float]:
        """The mean of each field's scores, in nats a number; NaN without any known value."""
        return {
            f"{c}.{f}": float(score[self.known[c][f]].mean()) if self.known[c][f].any() else np.nan
            for c, fields in self.scores.items()
            for f, score in fields.items()
        }

    def score_normal(self, name: FieldKey, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
        """Log-densities of a field's jittered targets under normals, one a number.

        Normals become as much wider as targets were jittered. Those of whole numbers are rounded
        first, since that is what they predict: else they would lack what is known of the type.
        """
        c, f = self.schema.split(name)
        values, blur = self.targets[c][f], self.blur[c, f]
        if self.schema.field(c, f).is_real:
            return log_normal(values, mean, np.hypot(sd, blur))
        middle, wide = (np.broadcast_to(v, values.shape)[..., None] for v in (mean, sd))
        return log_whole(values, blur, lambda whole: log_rounded(whole, middle, wide))

    def nats_below(self, name: FieldKey, scores: np.ndarray) -> float:
        """How many nats a number a model's scores of a field's targets are below the truth."""
        c, f = self.schema.split(name)
        return float((self.scores[c][f] - scores)[self.known[c][f]].mean())


def score_truth(
    blueprint: Blueprint, blur: Mapping[tuple[str, str], np.ndarray], data: Dataset, seed: int
) -> Truth:
    """Score the transitions of a dataset under the true distributions."""
    schema, rng = blueprint.schema, np.random.default_rng(seed)
    before, after = data.starts, data.starts + 1
    state, actions = _at(data, before, is_action=False), _at(data, before, is_action=True)
    present = {c: p[before] for c, p in data.present.items()}
    found = blueprint.distribution(WorldState(state, present), actions)
    targets: dict[str, dict[str, np.ndarray]] = {c: {} for c in schema.classes}
    scores: dict[str, dict[str, np.ndarray]] = {c: {} for c in schema.classes}
    known: dict[str, dict[str, np.ndarray]] = {c: {} for c in schema.classes}
    for c, distributions in found.items():
        for f, distribution in distributions.items():
            values = data.values[c][f][after]
            if (c, f) in blur:
                values = values + blur[c, f] * rng.standard_normal(values.shape)
            both = present[c] & data.present[c][after] & data.observed[c][f][after]
            targets[c][f], known[c][f] = values, both
            scores[c][f] = distribution.log_prob(values, blur.get((c, f), np.zeros(())))
    return Truth(schema, blur, targets, scores, known)


def _at(data: Dataset, rows: np.ndarray, is_action: bool) -> Arrays:
    return {
        c: {
            f: data.values[c][f][rows]
            for f, kind in data.schema.fields(c).items()
            if kind.action is is_action
        }
        for c in data.schema.classes
    }
