"""Forces by hand."""

from __future__ import annotations

import numpy as np

from oocdm.envs.generated.families.forces import Force, Forces
from oocdm.envs.generated.source import Source, of_others, read
from oocdm.worlds.world import WorldState

X, Y, Q = (Source("A", f, is_local=True) for f in ("x1", "x2", "x3"))
STATE = WorldState(
    {
        "A": {
            "x1": np.array([[0.0, 3.0, 9.0]], np.float32),
            "x2": np.array([[0.0, 4.0, 9.0]], np.float32),
            "x3": np.array([[2.0, -1.0, 7.0]], np.float32),
        }
    },
    {"A": np.array([[True, True, False]])},
)
INPUTS = {s: read(STATE, s, "A") for v in (X, Y, Q) for s in (v, of_others(v))}
PLACES = ((X, of_others(X)), (Y, of_others(Y)))


def test_forces_fall_with_the_square_of_the_distance():
    along = [Force(1.0, of_others(Q), PLACES, axis, 1e-6).value(INPUTS)[0, :2] for axis in (0, 1)]
    size = np.hypot(*along)
    np.testing.assert_allclose(size, [1 / 25, 2 / 25], rtol=1e-5)
    # A positive charge pushes away, a negative one pulls.
    np.testing.assert_allclose(along[0], [3 / 125, 2 * 3 / 125], rtol=1e-5)


def test_an_own_charge_may_count_and_forces_are_soft_near_zero():
    force = Force(0.5, of_others(Q), PLACES, 0, 12.0, Q)
    expected = 0.5 * np.array([2 * 3, -1 * 2 * 3]) / 13**3
    np.testing.assert_allclose(force.value(INPUTS)[0, :2], expected, rtol=1e-5)
    assert force.sources == (of_others(Q), Q, X, of_others(X), Y, of_others(Y))
    assert str(force) == (
        "+ 0.50 self.x3 sum(A[*].x3 / distance^2 along self.x1 - A[*].x1 (distance also in "
        "A[*].x2 - self.x2), softened by 12.00)"
    )


def test_charges_are_static_or_slow_of_either_class():
    roles, classes = set(), set()
    for seed in range(25):
        family = Forces([seed], False, True)
        blueprint = family.blueprint()
        for m in blueprint.mechanisms:
            for t in getattr(m, "terms", ()):
                if isinstance(t, Force):
                    classes.add(t.charge.class_name)
                    roles.add(blueprint.schema.field(*t.charge[:2]).role)
    assert roles == {"state", "static"} and classes == {"A", "B"}
