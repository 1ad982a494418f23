"""Steps of a world from its blueprint."""

from __future__ import annotations

import numpy as np

from oocdm.envs.generated.blueprint import Blueprint, edge_of
from oocdm.envs.generated.mechanisms import RealMechanism, Term
from oocdm.envs.generated.source import Source
from oocdm.envs.generated.start import Start
from oocdm.schema import ObjectClass, Real, Schema


class A(ObjectClass):
    x1 = Real()
    x2 = Real(static=True)
    a = Real(-1.0, 1.0, action=True)


X1, X2, ACTION = (Source("A", f, is_local=True) for f in ("x1", "x2", "a"))
MECHANISM = RealMechanism(X1, 0.5, (Term(1.0, X2), Term(2.0, ACTION)), noise=0.1)
STARTS = {("A", "x1"): Start(-3.0, 3.0), ("A", "x2"): Start(near="x1", own_part=0.1)}
BLUEPRINT = Blueprint(Schema(A), {"A": 3}, True, [MECHANISM], STARTS)


def test_the_graph_is_what_mechanisms_read():
    assert str(BLUEPRINT.graph) == "A.x1 <- self.x1, self.x2, self.a"
    assert str(edge_of(X2, MECHANISM)) == "A.x1 <- self.x2"


def test_fields_start_where_they_should():
    state = BLUEPRINT.reset(2000, np.random.default_rng(0))
    present = state.present["A"]
    assert set(present.sum(1)) == {1, 2, 3}
    x1, x2 = state.values["A"]["x1"], state.values["A"]["x2"]
    assert 2.9 < np.abs(x1).max() <= 3 and not x1[~present].any()
    assert 0.05 < np.abs(x2 - x1).max() <= 0.1
    far = BLUEPRINT.reset(2000, np.random.default_rng(0), ood=True)
    assert np.abs(far.values["A"]["x1"][far.present["A"]]).min() >= 3
    assert "a" not in state.values["A"]


def test_a_step_is_a_draw_from_the_distribution_and_static_fields_stay():
    rng = np.random.default_rng(0)
    state = BLUEPRINT.reset(500, rng)
    actions = BLUEPRINT.random_actions(state, rng)
    mean = BLUEPRINT.distribution(state, actions)["A"]["x1"].mean
    values = state.values["A"]
    expected = 0.5 * values["x1"] + values["x2"] + 2 * actions["A"]["a"]
    np.testing.assert_allclose(mean, expected, rtol=1e-5, atol=1e-6)
    after = BLUEPRINT.step(state, actions, rng)
    present = state.present["A"]
    assert 0.08 < (after.values["A"]["x1"] - mean)[present].std() < 0.12
    assert not after.values["A"]["x1"][~present].any()
    np.testing.assert_array_equal(after.values["A"]["x2"], values["x2"])
