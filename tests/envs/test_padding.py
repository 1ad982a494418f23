"""Rows of objects padded to equal numbers."""

from __future__ import annotations

import numpy as np

from oocdm.envs.padding import present_rows, zero_absent


def test_the_first_rows_are_present():
    assert present_rows(np.array([0, 2]), 3).tolist() == [[False] * 3, [True, True, False]]


def test_absent_rows_are_zero_in_any_shape_and_dtype():
    present = np.array([[True, False], [True, True]])
    values = {"x": np.ones((2, 2, 3), np.float32), "k": np.full((2, 2), 5)}
    padded = zero_absent(values, present)
    assert padded["x"].sum(-1).tolist() == [[3, 0], [3, 3]]
    assert padded["k"].tolist() == [[5, 0], [5, 5]]
    assert (padded["x"].dtype, padded["k"].dtype) == (np.float32, np.int64)
    assert values["x"].all() and values["k"].all()  # what was given is as it was


def test_a_full_world_is_not_copied():
    values = {"x": np.ones((2, 2))}
    full = zero_absent(values, np.ones((2, 2), bool))
    assert full["x"] is values["x"] and full is not values
