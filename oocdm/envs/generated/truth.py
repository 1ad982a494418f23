"""How likely logged steps are under the true distributions of their world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.data.log import Arrays
from oocdm.envs.generated.blueprint import Blueprint
from oocdm.worlds.world import WorldState

BLUR = 0.01  # of a field's usual change


@dataclass(frozen=True)
class Truth:
    """The true log-likelihood of a dataset, and the jittered targets that it is that of.

    Numbers get normal noise of standard deviation `blur`, one a component of a field, so that
    fields without noise have a density; categories stay as they are. A model that scores the same
    `targets`, with the variance blur^2 added to that of its normals, is
    `truth.log_likelihood[name] - its mean` nats a number below the truth.

    `targets`, `scores` and `known` are by class and field: (transition, object) and the axis of
    vectors, in the order of `data.transitions()`; `known` tells the values that count.
    `log_likelihood` is the mean of the scores, in nats a number, by names as "A.x1".
    """

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
            if schema.field(c, f).is_numeric and (c, f) in blur:
                values = values + blur[c, f] * rng.standard_normal(values.shape)
            both = present[c] & data.present[c][after] & data.observed[c][f][after]
            targets[c][f], known[c][f] = values, both
            scores[c][f] = distribution.log_prob(values, blur.get((c, f), np.zeros(())))
    return Truth(blur, targets, scores, known)


def _at(data: Dataset, rows: np.ndarray, is_action: bool) -> Arrays:
    return {
        c: {
            f: data.values[c][f][rows]
            for f, kind in data.schema.fields(c).items()
            if kind.action is is_action
        }
        for c in data.schema.classes
    }
