"""Whether single variables mean the same in all data."""

from __future__ import annotations

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.errors import DataError


def check_same_objects(data: Dataset, who: str, advice: str) -> None:
    """Raise a `DataError` if a variable may be of one object here and of another there."""
    for c, cells in data.cells.items():
        counts, num = cells.places.counts, data.max_counts[c]
        # Places beyond the objects there are may be empty, if they always are.
        if (counts != num).any() or (cells.places.widths != num).any():
            raise DataError(
                f"{who}: expected the same objects of class `{c}` in every step, got "
                f"{int(counts.min())} to {num} in {cells.places.width} places. {advice}"
            )
        places, names = data.names[c]
        ids = names[places.starts[:, None] + np.arange(num)]
        if (ids != ids[:1]).any():
            raise DataError(
                f"{who}: expected the same objects of class `{c}` in every episode, "
                f"got others in episode {data.episode_ids[(ids != ids[:1]).any(1)][0]}. {advice}"
            )
