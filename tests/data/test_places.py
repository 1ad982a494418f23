"""Places that are taken, against the padded arrays that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from oocdm.data.places import Places

MASKS = arrays.arrays(bool, st.tuples(st.integers(1, 8), st.integers(0, 5)))


def column_of(mask: np.ndarray, *own: int) -> tuple[np.ndarray, np.ndarray]:
    """A padded array with different numbers where the mask is set, and its column."""
    array = np.zeros((*mask.shape, *own))
    array[mask] = 1 + np.arange(mask.sum() * max(1, *own, 1)).reshape(-1, *own)
    return array, array[mask]


@given(MASKS, st.sampled_from([(), (2,)]))
def test_padding_and_back(mask, own):
    array, column = column_of(mask, *own)
    places = Places.of_mask(mask)
    assert np.array_equal(places.pad(column), array)
    assert np.array_equal(places.unpad(array), column)
    assert np.array_equal(places.counts, mask.sum(1))
    assert np.array_equal(np.stack([places.row, places.place]), np.nonzero(mask))
    assert places.is_full == mask.all()
    assert places.is_sparse == (mask.size > 2 * mask.sum())
    assert [places.where(i) for i in range(mask.sum())] == list(
        zip(*(x.tolist() for x in np.nonzero(mask)), strict=True)
    )


@given(MASKS)
def test_widths_reach_the_last_place_that_is_taken(mask):
    last = [max(np.flatnonzero(row), default=-1) + 1 for row in mask]
    assert Places.of_mask(mask).widths.tolist() == last


@given(MASKS, st.data())
def test_rows_are_taken_in_any_order(mask, data):
    rows = np.array(data.draw(st.lists(st.integers(0, len(mask) - 1), max_size=9)), dtype=int)
    array, column = column_of(mask)
    places, pick = Places.of_mask(mask).take(rows)
    assert np.array_equal(places.pad(pick(column)), array[rows])
    own = int(places.widths.max(initial=0))
    narrow = Places.of_mask(mask).padder(rows, own)(column)
    assert np.array_equal(narrow, array[rows, :own])


@given(MASKS, st.integers(0, 5))
def test_only_the_first_places(mask, width):
    width = min(width, mask.shape[1])
    array, column = column_of(mask)
    places, pick = Places.of_mask(mask).narrowed(width)
    assert np.array_equal(places.pad(pick(column)), array[:, :width])


def test_the_first_places_of_each_row():
    places = Places.first(np.array([2, 0, 3]), 4)
    assert places.place.tolist() == [0, 1, 0, 1, 2]
    assert (places.width, places.widths.tolist()) == (4, [2, 0, 3])


@pytest.mark.parametrize("names", [np.array(["a", "b"], object), np.array(["a", "b"])])
def test_blank_names_are_empty(names):
    assert Places.first(np.array([1, 1]), 2).pad(names).tolist() == [["a", ""], ["b", ""]]
