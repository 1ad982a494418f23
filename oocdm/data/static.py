"""Static values that are logged only now and then: known once, they are known in every step."""

from __future__ import annotations

import numpy as np

from oocdm.data.log import Log


def fill_static(log: Log, class_name: str, field_name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """The values of a static field and where they are known, also in the steps that lack them.

    A value holds for its object in all steps of its episode, before and after. The log is left
    as it is, and what it says must not contradict itself; None if there is nothing to fill in.

    >>> import pandas as pd
    >>> from oocdm.data.frames import read_frames
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     mass = Real(static=True)
    >>> frame = pd.DataFrame({"episode": 0, "step": range(3), "object": 0, "x": 0.0,
    ...                       "mass": pd.array([None, 2.5, None], dtype="Float64")})
    >>> values, known = fill_static(read_frames({"Ball": frame}, Schema(Ball)), "Ball", "mass")
    >>> values.ravel(), known.ravel()
    (array([2.5, 2.5, 2.5], dtype=float32), array([ True,  True,  True]))
    """
    known = log.observed[class_name][field_name]
    lacking = log.present[class_name] & ~known
    if not lacking.any():
        return None
    episode = np.searchsorted(log.episode_ids, log.episode)
    # Of each episode and object, a row that has the value; all of them have the same.
    source = np.full((log.num_episodes, known.shape[1]), -1)
    row, slot = np.nonzero(known)
    source[episode[row], slot] = row
    row, slot = np.nonzero(lacking & (source[episode] >= 0))
    values, known = log.values[class_name][field_name].copy(), known.copy()
    values[row, slot] = values[source[episode[row], slot], slot]
    known[row, slot] = True
    return values, known
