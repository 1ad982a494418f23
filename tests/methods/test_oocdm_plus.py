"""OOCDM+ where the objects of a class differ: it gets what OOCDM cannot."""

from __future__ import annotations

import math

import pytest

import oocdm
from oocdm import FitResult, Schedule
from tests.methods.differing import NOISE, balls

BEST = -0.5 * math.log(2 * math.pi * math.e * NOISE**2)  # nats, of what nothing predicts better
SCHEDULE = Schedule(
    iterations=2, steps_per_iteration=150, polish_steps=150, batch_size=128, copies=0
)


@pytest.fixture(scope="module")
def fitted() -> dict[str, FitResult]:
    data = balls(0)
    return {
        name: oocdm.fit(data, name, seed=0, schedule=SCHEDULE, likelihood="normal", **options)
        for name, options in (
            ("oocdm", {"focus": False}),
            ("oocdm+", {"focus": False, "hide_variables": 0.1}),
        )
    }


def test_it_reaches_the_noise_where_oocdm_cannot(fitted: dict[str, FitResult]) -> None:
    aill = {name: oocdm.evaluate(result, balls(1)).aill for name, result in fitted.items()}
    assert aill["oocdm+"] > BEST - 0.1
    assert aill["oocdm"] < BEST - 0.5


def test_a_class_edge_holds_for_some_of_the_objects_only(fitted: dict[str, FitResult]) -> None:
    """Which ones, the variables tell; no field says who is who."""
    result = fitted["oocdm+"]
    assert [str(e) for e in result.graph.edges()] == ["Ball.x <- self.x", "Ball.x <- self.push"]
    found = oocdm.discover_variables(result, balls(2))
    pushed = [str(e) for e in found.graph.edges() if "push" in str(e)]
    assert pushed == ["Ball[2].x <- Ball[2].push"]
    rolls = [str(e) for e in found.graph.edges() if "push" not in str(e)]
    assert rolls == [f"Ball[{i}].x <- Ball[{i}].x" for i in range(3)]


def test_with_an_identity_field_oocdm_gets_it_too() -> None:
    data, other = balls(0).with_identity(), balls(1).with_identity()
    result = oocdm.fit(data, seed=0, schedule=SCHEDULE, likelihood="normal", focus=False)
    assert "Ball.x <- self.identity" in map(str, result.graph.edges())
    assert oocdm.evaluate(result, other).aill > BEST - 0.2
