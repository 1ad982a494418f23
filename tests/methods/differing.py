"""A world whose objects differ: balls, of which only the last is pushed by its action."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from oocdm import Dataset, ObjectClass, Real, Schema

NOISE = 0.1
NAMES = ("a", "b", "c")


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


SCHEMA = Schema(Ball)


def balls(
    seed: int, episodes: int = 60, names: Sequence[str] = NAMES, others: Sequence[str] = ()
) -> Dataset:
    """Balls that roll to the middle; in the last episode they may have other names."""
    rng, steps, num = np.random.default_rng(seed), 20, len(names)
    x, push = np.zeros((episodes, steps, num)), rng.normal(size=(episodes, steps, num))
    x[:, 0] = rng.normal(size=(episodes, num))
    for t in range(steps - 1):
        x[:, t + 1] = 0.8 * x[:, t] + NOISE * rng.normal(size=(episodes, num))
        x[:, t + 1, -1] += push[:, t, -1]
    episode, step, place = np.indices(x.shape).reshape(3, -1)
    ids = np.array(names, dtype=object)[place]
    if others:
        ids = np.where(episode == episodes - 1, np.array(others, dtype=object)[place], ids)
    log = {"episode": episode, "step": step, "object": ids, "x": x.ravel(), "push": push.ravel()}
    return Dataset.from_frames({"Ball": pd.DataFrame(log)}, SCHEMA)
