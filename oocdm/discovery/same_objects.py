"""Whether single variables mean the same in all data."""

from __future__ import annotations

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.errors import DataError


def check_same_objects(data: Dataset, who: str, advice: str) -> None:
    """Raise a `DataError` if a variable may be of one object here and of another there.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=60, seed=0)
    >>> check_same_objects(data, "fit", "Use another method.")
    """
    for c, present in data.present.items():
        # Rows beyond the objects there are may be empty, if they always are.
        if (present != (np.arange(present.shape[1]) < present.sum(1).max(initial=0))).any():
            low, high = int(present.sum(1).min()), int(present.sum(1).max())
            raise DataError(
                f"{who}: expected the same objects of class `{c}` in every step, got "
                f"{low} to {high} in {present.shape[1]} places. {advice}"
            )
        ids = data.object_ids[c]
        if (ids != ids[:1]).any():
            raise DataError(
                f"{who}: expected the same objects of class `{c}` in every episode, "
                f"got others in episode {data.episode_ids[(ids != ids[:1]).any(1)][0]}. {advice}"
            )
