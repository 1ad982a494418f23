"""Rows of objects padded to equal numbers: which are present, and zero in those that are not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def present_rows(counts: np.ndarray, max_objects: int) -> np.ndarray:
    """A mask (world, object) with the first `counts` rows of each world set.

    >>> present_rows(np.array([1, 3]), 3).astype(int).tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    rows: np.ndarray = np.arange(max_objects) < counts[:, None]
    return rows


def zero_absent(values: Mapping[str, np.ndarray], present: np.ndarray) -> dict[str, np.ndarray]:
    """The fields of a class with 0 in the rows that hold no object.

    >>> zero_absent({"x": np.ones((1, 2))}, np.array([[True, False]]))["x"].tolist()
    [[1.0, 0.0]]
    """
    if present.all():
        return dict(values)
    return {
        name: np.where(present.reshape(present.shape + (1,) * (value.ndim - 2)), value, 0).astype(
            value.dtype, copy=False
        )
        for name, value in values.items()
    }
