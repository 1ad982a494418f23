"""Static values that are logged only now and then."""

from __future__ import annotations

import numpy as np
import pytest

from oocdm.data.static import fill_static
from tests.data.balls import make


def test_static_values_are_known_in_every_step_of_their_episode():
    data = make((4, 3, 2))
    present = np.ones((9, 2), bool)
    present[2, 0] = False
    seen = np.zeros((9, 2), bool)
    seen[1, 0] = seen[3, 1] = seen[5] = True
    mass = np.zeros((9, 2), np.float32)
    mass[1, 0], mass[3, 1], mass[5] = 5, 6, (7, 8)
    x, push = (np.where(present, data.values["Ball"][f], 0) for f in ("x", "push"))
    can_act = data.observed["Ball"]["push"] & present
    filled = make(
        (4, 3, 2),
        values={"Ball": {"x": x.astype(np.float32), "mass": mass, "push": push}},
        present={"Ball": present},
        observed={"Ball": {"x": present, "mass": seen, "push": can_act}},
    )
    assert filled.values["Ball"]["mass"].tolist() == [
        *([5, 6], [5, 6], [0, 6], [5, 6]),  # one object is absent for a step
        *([7, 8], [7, 8], [7, 8]),
        *([0, 0], [0, 0]),  # nobody knows
    ]
    known = filled.observed["Ball"]["mass"]
    assert np.array_equal(known, present & (filled.episode < 2)[:, None])
    assert seen.sum() == 4 and mass.sum() == 26  # what was given is as it was
    with pytest.raises(ValueError, match="read-only"):
        filled.values["Ball"]["mass"][0] = 1


def test_a_complete_log_is_left_alone():
    data = make()
    assert fill_static(data)["Ball"] is data.cells["Ball"]
