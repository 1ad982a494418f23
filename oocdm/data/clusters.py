"""Transitions that are alike, since they follow each other: what standard errors are made from."""

from __future__ import annotations

import numpy as np

MIN_CLUSTERS = 8  # with fewer episodes, stretches of consecutive transitions take their place
NUM_STRETCHES = 20


def clusters_of(episode: np.ndarray) -> np.ndarray:
    """A number for each transition: its episode, or where there are few, its stretch.

    >>> clusters_of(np.array([7] * 3 + [9] * 3)).max() + 1  # two episodes are too few
    np.int64(6)
    """
    names, cluster = np.unique(episode, return_inverse=True)
    if len(names) >= MIN_CLUSTERS:
        return cluster
    length = max(len(episode) / NUM_STRETCHES, 1.0)
    return np.unique((np.arange(len(episode)) / length).astype(int), return_inverse=True)[1]
