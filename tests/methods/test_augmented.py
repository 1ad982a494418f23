"""What OOCDM+ and OOFULL+ share: who is who, and what they refuse."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import oocdm
from oocdm import (
    CEM,
    MPC,
    DataError,
    LearnedEnv,
    ModelError,
    ModelOptions,
    Oocdm,
    Schedule,
    Snapshot,
    Task,
)
from oocdm.methods import make_method, method_from_json
from oocdm.methods.augmented import augmented
from oocdm.methods.oocdm_plus import OocdmPlus
from oocdm.methods.oofull_plus import OofullPlus
from oocdm.models.scales import Scales
from tests.methods.differing import SCHEMA, balls

KINDS: list[type[OocdmPlus] | type[OofullPlus]] = [OocdmPlus, OofullPlus]
QUICK = Schedule(iterations=1, steps_per_iteration=3, polish_steps=3, batch_size=32)
SMALL = ModelOptions(*(4, 4, 2, 4, 8), product_rank=2, pair_hidden=4, pair_dim=2, identity_dim=4)
DATA = balls(0, episodes=12)


@pytest.fixture(scope="module")
def fitted() -> oocdm.FitResult:
    return oocdm.fit(DATA, "oocdm+", seed=0, schedule=QUICK, model=SMALL)


@pytest.mark.parametrize("kind", KINDS)
def test_presets_add_who_is_who_and_nothing_else(kind: type[OocdmPlus] | type[OofullPlus]) -> None:
    plain = kind.name.removesuffix("+")
    for preset in ("default", "paper"):
        ours, theirs = make_method(kind.name, preset), make_method(plain, preset)
        assert type(ours) is kind and ours.model == augmented(preset)
        assert replace(ours.model, identity_dim=0) == theirs.model  # type: ignore[attr-defined]
        assert {**vars(ours), "model": theirs.model} == vars(theirs)  # type: ignore[attr-defined]
        assert method_from_json(json.loads(json.dumps(ours.to_json()))) == ours
    assert make_method(kind.name, model={"decoder_dim": 8}).model.identity_dim == 64  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", KINDS)
def test_products_are_there_from_the_first_step_on(
    kind: type[OocdmPlus] | type[OofullPlus],
) -> None:
    model = kind().build(SCHEMA, Scales.unit(SCHEMA))
    testable = model.edges.testable({"Ball": 3})
    plain = make_method(kind.name.removesuffix("+"))
    products = model.layout.ways(["products"])
    for known in (None, ~testable):
        ours, theirs = (each.start(model.layout, known, testable) for each in (kind(), plain))
        assert ours[0] == theirs[0] | products and not (theirs[0] & products).any()
        is_free = products if kind is OocdmPlus else products - products
        assert ours[1] == theirs[1] | is_free


def test_the_papers_search_leaves_paths_alone() -> None:
    layout = OocdmPlus().build(SCHEMA, Scales.unit(SCHEMA)).layout
    testable = np.ones(layout.num_edges, dtype=bool)
    ours, theirs = (
        each(search_name="leave-one-out").start(layout, None, testable)
        for each in (OocdmPlus, Oocdm)
    )
    assert ours == theirs


def test_who_knows_objects() -> None:
    known = {name: make_method(name).knows_objects for name in oocdm.methods.METHODS}
    assert [name for name, knows in known.items() if not knows] == ["oocdm", "oofull"]
    assert make_method("oocdm", model={"identity_dim": 8}).knows_objects
    assert not OocdmPlus.needs_fixed_objects


@pytest.mark.parametrize("name", ["oocdm+", "oofull+"])
def test_without_encodings_of_objects_it_would_be_another_method(name: str) -> None:
    message = (
        f"Method `{name}`: `model.identity_dim`: expected at least 2, got 0: objects would be "
        f"taken for alike. For that take `{name[:-1]}`."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        make_method(name, model=ModelOptions())


def test_objects_that_change_names_between_episodes_are_refused(tmp_path: Path) -> None:
    others = balls(0, episodes=12, others=("a", "b", "d"))
    message = (
        "Method `oocdm+`: expected the same objects of class `Ball` in every episode, got `c` at "
        "place 2 in episode 0 and `d` in episode 11. Objects are known one by one here, in the "
        "order of their names: give each one the same name in all episodes, or take `oocdm` or "
        "`oofull`, for which the objects of a class are alike."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        oocdm.fit(others, "oocdm+", folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(DataError, match=r"^Method `oofull.`: expected the same objects"):
        oocdm.estimate_memory(others, "oofull+")
    oocdm.fit(others, "oocdm", schedule=QUICK)  # for which they are alike


def test_a_run_refuses_other_objects_wherever_it_meets_them(
    fitted: oocdm.FitResult, tmp_path: Path
) -> None:
    assert fitted.objects == {"Ball": ["a", "b", "c"]}
    fitted.save(tmp_path / "run")
    loaded = oocdm.load(tmp_path / "run")
    others, task = (
        balls(1, episodes=12, names=("a", "c", "x")),
        Task(lambda before, after: after["Ball.x"][:, 0], reads=["Ball.x"]),
    )
    asks: dict[str, Any] = {
        "evaluate": lambda r: oocdm.evaluate(r, others),
        "discover": lambda r: oocdm.discover(r, others),
        "discover_variables": lambda r: oocdm.discover_variables(r, others),
        "check_assumptions": lambda r: oocdm.check_assumptions(r, others),
        "counterfactual": lambda r: oocdm.counterfactual(r, others, 0, 0, {"Ball[0].x": 1.0}),
        "LearnedEnv": lambda r: LearnedEnv(r, task, counts={"Ball": 3}, start=others),
    }
    for where, ask in asks.items():
        message = (
            f"{where}: expected object `b` of class `Ball` at place 1, as in training, got `c` in "
            "episode 0. This model knows its objects one by one, in the order of their names: "
            "name them as in training, or fit anew; methods `oocdm` and `oofull` take any objects."
        )
        with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
            ask(loaded)


def test_any_number_of_objects_will_do(fitted: oocdm.FitResult) -> None:
    """As long as those that are known stand where they stood."""
    for names in (("a",), ("a", "b"), ("a", "b", "c", "d", "e")):
        assert np.isfinite(oocdm.evaluate(fitted, balls(1, 12, names)).aill)
    with pytest.raises(DataError, match="expected object `b` of class `Ball` at place 1"):
        oocdm.evaluate(fitted, balls(1, 12, ("a", "c")))


def test_it_plans_rolls_out_and_is_a_world(fitted: oocdm.FitResult) -> None:
    task = Task(lambda before, after: -after["Ball.x"].abs().sum(1), reads=["Ball.x"])
    before = DATA.transitions(slice(0, 2)).before
    agent = MPC(fitted, task, planner=CEM(horizon=2, samples=8, elites=2, iterations=2))
    agent.reset(2)
    action = agent.act(before)
    assert action["Ball"]["push"].shape == (2, 3)
    for num in (2, 3, 5):
        world = LearnedEnv(fitted, task, counts={"Ball": num})
        world.reset(seed=0)
        _, reward, *_ = world.step(world.action_space.sample())
        assert np.isfinite(reward)
    pushes = {"Ball": {"push": np.zeros((3, 2, 3))}}
    assert len(oocdm.rollout(fitted, before, pushes)) == 3


def test_planning_predicts_as_a_call_does_whatever_the_numbers(fitted: oocdm.FitResult) -> None:
    """What is kept of who is who is not used for other numbers of objects."""
    model = fitted.model
    predict = model.compile_for(fitted.graph)
    structure = model.structures(fitted.graph)
    for num in (2, 5, 3, 1, 5):
        values = {"Ball": {f: torch.randn(4, num) for f in SCHEMA.fields("Ball")}}
        state = Snapshot.of(SCHEMA, values)
        with torch.no_grad():
            (expected,) = model(model.inputs(state), structure)
        found = predict(state)
        torch.testing.assert_close(found["Ball.x"].mean, expected["Ball.x"].mean)
