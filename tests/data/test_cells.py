"""The objects of a class without padding, and as padded arrays."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from oocdm.data.cells import Cells, Padded
from oocdm.data.places import Places

ON = np.array([[True, False], [False, False], [True, True]])
X = np.array([[5, 0], [0, 0], [6, 0]])


def cells() -> Cells:
    return Cells.of_arrays(ON, {"x": X}, {"x": X > 0})


def test_cells_of_arrays_and_back():
    made = cells()
    assert made.values["x"].tolist() == [5, 6, 0]
    assert made.observed["x"].tolist() == [True, True, False]
    assert made.there.tolist() == [True] * 3
    values, observed = made.padded()
    assert np.array_equal(values["x"], X)
    assert np.array_equal(observed["x"], X > 0)
    assert (list(values), len(values), "y" in values) == (["x"], 1, False)


def test_views_lead_back_to_the_cells_that_they_show():
    made = cells()
    values, observed = made.padded()
    again = Cells.of_views(made.places, values, observed)
    assert again is not None and again.values["x"] is made.values["x"]
    assert Cells.of_views(made.places, {"x": X}, observed) is None
    assert Cells.of_views(made.places, values, dict(observed)) is None
    assert Cells.of_views(cells().places, values, observed) is None


def test_some_rows():
    some = cells().take(np.array([2, 1, 2]))
    assert some.places.counts.tolist() == [2, 0, 2]
    assert some.values["x"].tolist() == [6, 0, 6, 0]


def test_padded_arrays_are_kept_unless_they_are_mostly_empty():
    full, sparse = Places.of_mask(ON[:, :1]), Places.of_mask(ON[:2])
    view = Padded({"full": (full, np.ones(2)), "sparse": (sparse, np.ones(1))})
    assert view["full"] is view["full"]
    assert view["sparse"] is not view["sparse"]
    for name in view:
        with pytest.raises(ValueError, match="read-only"):
            view[name][0] = 1


def test_copies_carry_no_padding():
    view = cells().padded()[0]
    assert view["x"].shape == (3, 2)
    assert len(pickle.dumps(view)) == len(pickle.dumps(cells().padded()[0]))
    assert np.array_equal(pickle.loads(pickle.dumps(view))["x"], X)
