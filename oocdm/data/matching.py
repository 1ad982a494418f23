"""What looks wrong in a log of several classes, though it may be right: their steps do not match.

Only logs that are put together from a user's own frames are looked at: a simulator knows when it
has no object of a class.
"""

from __future__ import annotations

import logging

import numpy as np

from oocdm.data.log import Log

logger = logging.getLogger(__name__)

# A class that is there less often in an episode has no rhythm yet.
_LEAST_TIMES = 3


def warn_of_mismatch(log: Log) -> None:
    """Log a warning for each class that whole episodes lack, or that comes and goes in rhythm.

    >>> import pandas as pd
    >>> from oocdm.data.frames import read_frames
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> frame = pd.DataFrame({"episode": 0, "step": [0, 1], "object": 0, "x": [0.0, 0.5]})
    >>> warn_of_mismatch(read_frames({"Ball": frame}, Schema(Ball)))  # nothing to say
    """
    ends = np.flatnonzero(log.is_last)[:-1] + 1
    # Of each class, the steps in which it has any object, one array an episode.
    there = {c: np.split(x.places.counts > 0, ends) for c, x in log.cells.items()}
    has_any = {c: np.array([steps.any() for steps in parts]) for c, parts in there.items()}
    is_used = np.any(list(has_any.values()), axis=0)
    for name, parts in there.items():
        lacking = np.flatnonzero(is_used & ~has_any[name])
        if len(lacking) and has_any[name].any():
            logger.warning(
                "Class `%s` has no object in %d of %d episodes, though other classes have; the "
                "first is episode %d. If it should be there, check that the column `episode` "
                "means the same in the frames of all classes.",
                *(name, len(lacking), log.num_episodes, log.episode_ids[lacking[0]]),
            )
        rhythms = [rhythm(steps) for steps in parts]
        blinking = np.flatnonzero(rhythms)
        if len(blinking):
            logger.warning(
                "Class `%s` is there in only one of %d steps, throughout %d of %d episodes; the "
                "first is episode %d. If it is logged less often than other classes, repeat its "
                "rows in the steps between: what is absent in the next step is not learned.",
                *(name, rhythms[blinking[0]], len(blinking), log.num_episodes),
                log.episode_ids[blinking[0]],
            )


def rhythm(there: np.ndarray) -> int:
    """Every how many steps of an episode something is there; 0 if not regularly, or always.

    >>> rhythm(np.array([1, 0, 1, 0, 1, 0])), rhythm(np.array([0, 1, 0, 0, 1, 0, 0, 1]))
    (2, 3)
    >>> rhythm(np.array([1, 0, 1, 0, 1, 1])), rhythm(np.array([1, 1, 1, 1]))
    (0, 0)
    """
    times = np.flatnonzero(there)
    if len(times) < _LEAST_TIMES or len(times) == len(there):
        return 0
    gap = int(times[1] - times[0])
    is_throughout = times[0] < gap and len(there) - times[-1] <= gap
    return gap if gap > 1 and is_throughout and bool((np.diff(times) == gap).all()) else 0
