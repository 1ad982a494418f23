"""What a user did not set does not depend on the units of fields.

Real fields and their bounds are multiplied by powers of two, which round nothing. So weights come
out equal to the bit; only logarithms of predicted variances round differently.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from oocdm import Dataset, Schedule, collect, evaluate, explain, fit
from oocdm.bench.units import exponents_of, in_units, relative_errors
from oocdm.envs.block import BlockWorld
from oocdm.inference import check_assumptions, counterfactual, rollout
from oocdm.methods import make_method
from oocdm.planning import CEM, LearnedSimulator
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.task import Task
from oocdm.training import FitResult
from tests.worlds.balls import Balls

QUICK = Schedule(iterations=2, steps_per_iteration=8, polish_steps=5)
UNITS = ["2^-27", "2^27", "mixed"]


@cache
def logged(world: str, unit: str = "2^0") -> Dataset:
    """Balls have bounds, a vector that never changes, and come in varying numbers."""
    data = collect(Balls() if world == "balls" else BlockWorld(num_blocks=2), 300, seed=0)
    return in_units(data, exponents_of(data.schema, unit))


@cache
def fitted(world: str, method: str, unit: str = "2^0") -> FitResult:
    return fit(logged(world, unit), method, seed=0, schedule=QUICK)


def factor(world: str, name: str, unit: str) -> float:
    return 2.0 ** exponents_of(logged(world).schema, unit)[name.split(".")[1]]


@pytest.mark.parametrize(
    ("world", "method", "unit"),
    [
        *[("balls", "oocdm", unit) for unit in UNITS],
        ("balls", "oofull", "mixed"),
        *[("block", method, "mixed") for method in ("oocdm", "cdl", "ticsa", "gnn", "mlp")],
    ],
)
def test_models_graphs_and_relative_errors_are_the_same(world: str, method: str, unit: str) -> None:
    own, other = fitted(world, method), fitted(world, method, unit)
    weights = zip(own.model.parameters(), other.model.parameters(), strict=True)
    assert all(torch.equal(one, two) for one, two in weights)
    edges = (each.model.edges.mask(each.graph) for each in (own, other))
    np.testing.assert_array_equal(*edges)
    np.testing.assert_array_equal(own.evidence.decision, other.evidence.decision)
    np.testing.assert_allclose(own.evidence.score, other.evidence.score, rtol=0, atol=5e-6)
    expected = relative_errors(own, logged(world))
    assert relative_errors(other, logged(world, unit)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("unit", UNITS)
def test_sigmas_are_in_the_units_of_their_fields(unit: str) -> None:
    own, other = fitted("balls", "oocdm"), fitted("balls", "oocdm", unit)
    reports = [
        evaluate(result, data).fields
        for result, data in ((own, logged("balls")), (other, logged("balls", unit)))
    ]
    for name, report in reports[0].items():
        assert reports[1][name].coverage == report.coverage
        c, f = name.split(".")
        i = own.model.schema.targets(c).index(f)
        ours, theirs = (r.model.heads[c].calibrated_sigma[i] for r in (own, other))
        if own.model.schema.field(c, f).is_real:
            size = own.model.schema.field(c, f).size
            torch.testing.assert_close(
                theirs[:size], factor("balls", name, unit) * ours[:size], rtol=0, atol=0
            )
            assert report.rmse is not None and report.log_likelihood is not None
            assert reports[1][name].rmse == factor("balls", name, unit) * report.rmse


@pytest.mark.parametrize("unit", UNITS)
def test_futures_are_in_the_units_of_their_fields(unit: str) -> None:
    ends = []
    for each in ("2^0", unit):
        state = logged("balls", each).transitions(slice(0, 2)).before
        push = torch.full((4, 2, 3), 0.5) * factor("balls", "Ball.push", each)
        futures = rollout(fitted("balls", "oocdm", each), state, {"Ball": {"push": push}}, 20)
        ends.append(torch.stack(futures.interval("Ball.x")))
    torch.testing.assert_close(ends[1], factor("balls", "Ball.x", unit) * ends[0], rtol=0, atol=0)


@pytest.mark.parametrize("unit", UNITS)
def test_answers_have_the_same_words_but_for_numbers(unit: str) -> None:
    found: list[list[Any]] = []
    for each in ("2^0", unit):
        result, data = fitted("balls", "oocdm", each), logged("balls", each)
        why = explain(result, data, episode=0, step=3, variable="Ball[0].x")
        push = 0.5 * factor("balls", "Ball.push", each)
        other = counterfactual(result, data, 0, 3, do={"Ball[0].push": push}, horizon=3)
        findings = check_assumptions(result, data)
        found.append(
            [
                [(reason.variable, round(reason.nats, 3)) for reason in why.reasons],
                [(change.step, change.variable) for change in other.changes()],
                [(finding.kind, finding.what, round(finding.size, 4)) for finding in findings],
            ]
        )
    assert found[0] == found[1]
    assert found[0][1]  # something would have changed


@pytest.mark.parametrize("unit", ["mixed"])
def test_actions_without_bounds_are_looked_for_as_far_as_they_were_logged(unit: str) -> None:
    plans = []
    for each in ("2^0", unit):
        result, data = fitted("block", "oocdm", each), logged("block", each)
        per_s1 = 1 / factor("block", "Total.s1", each)
        task = Task(
            lambda before, after, per_s1=per_s1: per_s1 * after["Total", "s1"].sum(1),
            lambda after: torch.zeros(after.batch_size, dtype=torch.bool),
            reads=["Total.s1"],
        )
        plan = CEM(horizon=3, iterations=2, samples=20, elites=4).plan(
            LearnedSimulator(result, task),
            data.transitions(slice(0, 1)).before,
            generator=torch.Generator().manual_seed(0),
        )
        plans.append(plan.actions["Block"]["a"] / factor("block", "Block.a", each))
    assert logged("block").schema.field("Block", "a").low is None
    torch.testing.assert_close(plans[0], plans[1], rtol=0, atol=0)


def test_a_number_that_never_varies_is_measured_in_itself() -> None:
    """Otherwise what is predicted of it is lost in rounding, in one unit and not in another."""

    class Ball(ObjectClass):
        x = Real()
        mass = Real()

    def data(size: float) -> Dataset:
        steps = np.arange(200)
        frame = pd.DataFrame({"episode": steps // 10, "step": steps % 10, "object": 0})
        frame["x"] = np.random.default_rng(0).normal(size=200)
        frame["mass"] = 5.0 * size
        return Dataset.from_frames({"Ball": frame}, Schema(Ball))

    one, other = (fit(data(2.0**k), seed=0, schedule=QUICK) for k in (0, 27))
    np.testing.assert_allclose(one.evidence.score, other.evidence.score, rtol=0, atol=5e-6)


def test_mixtures_and_what_is_calibrated_of_them_are_in_the_units_of_their_fields() -> None:
    """Their parts are weighed by their densities, which have a unit each."""

    class Ball(ObjectClass):
        x = Real(likelihood="mixture")

    def data(size: float) -> Dataset:
        steps, rng = np.arange(400), np.random.default_rng(0)
        frame = pd.DataFrame({"episode": steps // 10, "step": steps % 10, "object": 0})
        jumps = (rng.random(400) < 0.05) * rng.normal(size=400)
        frame["x"] = (jumps + rng.normal(scale=0.01, size=400)) * size
        return Dataset.from_frames({"Ball": frame}, Schema(Ball))

    size = 2.0**-27
    one, other = (fit(data(each), seed=0, schedule=QUICK).model for each in (1.0, size))
    ours, theirs = (each.heads["Ball"] for each in (one, other))
    assert ours.is_mixture.all()
    assert ours.calibrated_sigma.all()
    weights = zip(one.parameters(), other.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in weights)
    assert torch.equal(theirs.calibrated_share, ours.calibrated_share)
    assert torch.equal(theirs.calibrated_sigma, size * ours.calibrated_sigma)


@pytest.mark.parametrize("method", ["oocdm", "oofull", "cdl", "gnn"])
def test_the_paper_s_floor_is_one_number_in_all_units(method: str) -> None:
    part = "model" if method.startswith("oo") else "head"
    assert getattr(make_method(method), part).sigma_floor is None
    assert getattr(make_method(method, "paper"), part).sigma_floor == 1e-5


def test_what_starts_at_0_is_measured_in_its_changes() -> None:
    """Such as speeds in episodes of a single step: before it, all of them are 0."""

    class Ball(ObjectClass):
        place = Real(static=True)
        speed = Real()

    def data(size: float) -> Dataset:
        rows, rng = np.arange(300), np.random.default_rng(0)
        frame = pd.DataFrame({"episode": rows // 2, "step": rows % 2, "object": 0})
        frame["place"] = np.repeat(rng.normal(size=150), 2)
        frame["speed"] = (rows % 2) * (frame["place"] + 0.1 * rng.normal(size=300)) * size
        return Dataset.from_frames({"Ball": frame}, Schema(Ball))

    size = 2.0**27
    one, other = (fit(data(each), seed=0, schedule=QUICK) for each in (1.0, size))
    weights = zip(one.model.parameters(), other.model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in weights)
    errors = [relative_errors(*each) for each in ((one, data(1.0)), (other, data(size)))]
    assert errors[1] == pytest.approx(errors[0], rel=1e-6)
