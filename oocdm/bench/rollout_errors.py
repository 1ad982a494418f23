"""Rollouts of a model against the simplest guesses: nothing changes, or it goes on changing."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from oocdm.bench.calibration_summary import t_interval
from oocdm.data.dataset import Dataset
from oocdm.inference import rollout
from oocdm.training import FitResult

HORIZON = 10
SAMPLES = 20
EVERY = 10  # steps between the starts of rollouts


def rollout_errors(result: FitResult, data: Dataset, seed: int = 0) -> dict[str, dict[str, Any]]:
    """Mean absolute errors after ten steps of each field of real numbers, and differences.

    Differences to a guess have 95 % intervals over episodes; below 0 the model is better. Guesses
    are `persistence`, as it is now, and `velocity`, changing on as in the last step.
    """
    rows = _starts(data)
    batch = [data.transitions(rows + k) for k in (-1, 0, HORIZON - 1)]
    actions = {
        c: {
            f: torch.stack([data.transitions(rows + k).before[c, f] for k in range(HORIZON)])
            for f, kind in data.schema.fields(c).items()
            if kind.action
        }
        for c in data.schema.classes
    }
    given = {c: fields for c, fields in actions.items() if fields}
    state = batch[1].before
    futures = rollout(result, state, given or None, SAMPLES, seed, steps=None if given else HORIZON)
    found = {}
    for c in data.schema.classes:
        for f in data.schema.targets(c):
            if not data.schema.field(c, f).is_real:
                continue
            past, now, truth = batch[0].before[c, f], state[c, f], batch[2].after[c, f]
            guesses = {
                "model": futures.mean(c, f)[-1],
                "persistence": now,
                "velocity": now + HORIZON * (now - past),
            }
            there = state.present[c] & batch[2].after.present[c]
            errors = {
                name: _by_world((guess - truth).abs().double(), there)
                for name, guess in guesses.items()
            }
            found[f"{c}.{f}"] = _compare(errors, data.episode_of[rows])
    return found


def _starts(data: Dataset) -> np.ndarray:
    """Transitions with one before them and ten from them on, all of one episode."""
    episode = data.episode_of
    rows = np.arange(1, len(episode) - HORIZON + 1, EVERY)
    first, last = episode[rows - 1], episode[rows + HORIZON - 1]
    return np.asarray(rows[first == last])


def _by_world(errors: torch.Tensor, there: torch.Tensor) -> np.ndarray:
    """The mean over the objects of each world; NaN where there are none."""
    errors = errors.reshape(*there.shape, -1).mean(-1)
    total = torch.where(there, errors, 0.0).sum(1)
    return np.asarray((total / there.sum(1)).numpy())


def _compare(errors: dict[str, np.ndarray], episode: np.ndarray) -> dict[str, Any]:
    """Means over episodes, and how much the model's errors are larger than those of guesses."""
    known = ~np.isnan(errors["model"])
    episodes = np.unique(episode[known])
    means = {
        name: np.array([each[known & (episode == e)].mean() for e in episodes])
        for name, each in errors.items()
    }
    row: dict[str, Any] = {name: float(each.mean()) for name, each in means.items()}
    for guess in ("persistence", "velocity"):
        row[f"over_{guess}"] = t_interval(means["model"] - means[guess])
    return row
