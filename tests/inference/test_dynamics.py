"""The learned world step by step, and how much of it must be simulated."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oocdm
from oocdm import ClassGraph, ModelError, Snapshot
from oocdm.envs.mouse import MouseWorld
from oocdm.inference import Dynamics, reaching, with_actions
from oocdm.models.mixture_field import MixtureField
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from tests.inference import knobs
from tests.inference.ragged import ragged, random_model

DATA = ragged()
BEFORE = DATA.transitions().before


def has_both_parts(model: OocdmModel) -> bool:
    """Whether of some ants the narrow part of the mixture is likelier, and of others the wide."""
    found = model.compile_for(ClassGraph.full(DATA.schema))(BEFORE)["Ant", "x"]
    assert isinstance(found, MixtureField)
    return len((found.chance > 0.5)[BEFORE.present["Ant"]].unique()) == 2


MODEL = next(m for m in (random_model(DATA, seed=s) for s in range(100)) if has_both_parts(m))
TARGETS = [f"{c}.{v}" for c in DATA.schema.classes for v in DATA.schema.targets(c)]
SEEDS = st.integers(0, 2**20)


def fitted(graph: Any) -> Any:
    return SimpleNamespace(model=MODEL, graph=graph)


def actions(seed: int) -> dict[str, dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    return {"Ant": {"push": torch.randn(BEFORE.present["Ant"].shape, generator=generator)}}


@settings(max_examples=25)
@given(st.sampled_from(TARGETS), st.integers(1, 4), st.floats(0.02, 0.3), SEEDS)
def test_what_is_read_does_not_depend_on_what_is_left_out(
    read: str, horizon: int, density: float, seed: int
) -> None:
    graph = ClassGraph.random(DATA.schema, density, np.random.default_rng(seed))
    whole, part = Dynamics(fitted(graph)), Dynamics(fitted(graph), [read], horizon)
    states = []
    for dynamics in (whole, part):
        now = BEFORE
        for step in range(horizon):
            now = dynamics.step(with_actions(now, actions(step)), seed + step)
        states.append(now)
    c, _, f = read.partition(".")
    torch.testing.assert_close(states[0][c, f], states[1][c, f], rtol=0, atol=1e-9)


def test_only_ancestors_are_simulated() -> None:
    graph = MouseWorld().true_graph
    assert reaching(graph, ["Mouse.hunger"], 1) == {"Mouse.hunger"}
    two = {"Mouse.hunger", "Mouse.position", "Food.amount", "Food.position"}
    assert reaching(graph, ["Mouse.hunger"], 2) == two
    assert reaching(graph, ["Mouse.hunger"]) == two | {"Trap.duration", "Trap.position"}
    assert reaching(graph, ["Mouse.move"]) == set()  # an action is chosen, not simulated
    assert "Monster.noise" not in reaching(graph, ["Mouse.hunger", "Mouse.health"])


@pytest.mark.parametrize("seed", [None, 0])
def test_absent_objects_and_static_fields_stay_as_they_are(seed: int | None) -> None:
    after = Dynamics(fitted(ClassGraph.full(DATA.schema))).step(BEFORE, seed)
    for c, fields in after.values.items():
        for f, value in fields.items():
            field = DATA.schema.field(c, f)
            assert not field.action
            assert value.shape == BEFORE[c, f].shape and value.dtype == BEFORE[c, f].dtype
            assert not value[~BEFORE.present[c]].any()
            if field.static:
                assert torch.equal(value, BEFORE[c, f])
            elif field.low is not None:
                assert (value[BEFORE.present[c]] >= field.low).all()
    assert after.present is BEFORE.present


def test_steps_are_most_likely_or_drawn() -> None:
    dynamics = Dynamics(fitted(ClassGraph.full(DATA.schema)))
    first, second = dynamics.step(BEFORE), dynamics.step(BEFORE)
    drawn = [dynamics.step(BEFORE, s) for s in (1, 1, 2)]
    found = dynamics.predict(BEFORE)["Ant", "x"]
    assert isinstance(found, MixtureField)
    is_here = BEFORE.present["Ant"]
    is_wide = found.chance > 0.5
    likely = torch.where(is_wide, found.wide.mean, found.narrow.mean)
    assert torch.equal(first["Ant", "x"], second["Ant", "x"])
    torch.testing.assert_close(
        first["Ant", "x"][is_here].double(), likely[is_here], rtol=1e-5, atol=1e-5
    )
    assert torch.equal(drawn[0]["Ant", "x"], drawn[1]["Ant", "x"])
    assert not torch.equal(drawn[0]["Ant", "x"], drawn[2]["Ant", "x"])


def test_actions_must_be_complete() -> None:
    expected = tuple(BEFORE.present["Ant"].shape)
    start = f"Action `Ant.push`: expected values of shape {expected} (world, object, ...), got "
    for chosen, got in (({}, "none."), ({"Ant": {"push": torch.zeros(2)}}, "shape (2,).")):
        with pytest.raises(ModelError, match=f"^{re.escape(start + got)}$"):
            with_actions(BEFORE, chosen)


def test_a_variable_graph_leaves_nothing_out() -> None:
    data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=40, seed=0)
    model = OocdmModel(data.schema, ModelOptions(), None)
    graph = ClassGraph.full(data.schema).ground(data.max_counts)
    before = data.transitions().before
    by_variables, by_classes = (
        Dynamics(SimpleNamespace(model=model, graph=g)).step(before)["Block", "s1"]
        for g in (graph, ClassGraph.covering(data.schema, graph))
    )
    torch.testing.assert_close(by_variables, by_classes)
    with pytest.raises(ModelError, match="expected a class graph"):
        Dynamics(SimpleNamespace(model=model, graph=graph), reads=["Total.s1"])


def test_a_class_may_have_nothing_but_actions() -> None:
    before = knobs.DATA.transitions(slice(0, 4)).before
    dynamics = Dynamics(knobs.RESULT)
    after = dynamics.step(before, 0)
    assert after.values["Knob"] == {} and after.counts == before.counts
    turn = {"Knob": {"turn": before["Knob", "turn"]}}
    again = dynamics.step(with_actions(after, turn), 1)
    assert again["Lamp", "x"].shape == (4, 3)


# ---------------------------------------------------------------- what is unknown

WHOLE = ragged(is_whole=True)
KNOWN = WHOLE.transitions(slice(0, 3)).before
FULL = SimpleNamespace(model=random_model(WHOLE), graph=ClassGraph.full(WHOLE.schema))


def test_what_is_only_copied_stays_unknown() -> None:
    hidden = torch.zeros(KNOWN.present["Ant"].shape, dtype=torch.bool)
    hidden[:, 1] = True
    before = KNOWN.hide({"Ant": {"mass": hidden, "level": hidden}})
    dynamics = Dynamics(FULL, reads=["Ant.x"], horizon=1)  # no level is simulated
    after = dynamics.step(before, 0)
    for f in ("mass", "level"):
        assert torch.equal(after.observed["Ant"][f], before.observed["Ant"][f])
        assert not after["Ant", f][hidden].any()
    assert after.observed["Ant"]["x"] is before.present["Ant"]
    everything = Dynamics(FULL).step(before, 0)
    assert everything.observed["Ant"]["level"].all()
    assert not everything.observed["Ant"]["mass"][hidden].any()
    # A second step sees an unknown mass, not one of 0.
    blank = Dynamics(FULL).step(with_actions(everything, {"Ant": {"push": KNOWN["Ant", "push"]}}))
    zero = Snapshot.of(everything.schema, everything.values, everything.present)
    other = Dynamics(FULL).step(with_actions(zero, {"Ant": {"push": KNOWN["Ant", "push"]}}))
    assert not torch.allclose(blank["Ant", "x"], other["Ant", "x"])


@pytest.mark.parametrize("reads", [None, ["Ant.x"]])
def test_all_that_is_known_is_seen_to_be_known_at_no_cost(reads: list[str] | None) -> None:
    assert KNOWN.observed["Ant"]["mass"] is not KNOWN.present["Ant"]
    after = Dynamics(FULL, reads, 1).step(KNOWN, 0)
    for c, fields in after.observed.items():
        assert all(known is KNOWN.present[c] for known in fields.values())


# ---------------------------------------------------------------- devices


def test_states_visit_the_device_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    dynamics, moves = Dynamics(FULL), []
    expected = dynamics.step(KNOWN, 0)
    dynamics.step(KNOWN, 0)
    monkeypatch.setattr(Snapshot, "to", lambda self, device: (moves.append(device), self)[1])
    dynamics.step(KNOWN, 0)
    assert moves == [] and dynamics.device == KNOWN.device
    dynamics.device = torch.device("meta")  # which stands for a GPU
    assert torch.equal(dynamics.step(KNOWN, 0)["Ant", "x"], expected["Ant", "x"])
    assert moves == [torch.device("meta"), KNOWN.device]


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize("horizon", [0, -1, 2.5, True])
def test_a_horizon_is_a_whole_number(horizon: Any) -> None:
    kind = "" if type(horizon) is int else " or None"
    message = (
        f"Dynamics: `horizon`: expected a whole number of at least 1{kind}, got {horizon!r}. It is "
        "how many steps are simulated."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        Dynamics(FULL, ["Ant.x"], horizon)


def test_a_single_field_may_be_named_as_it_is() -> None:
    assert Dynamics(FULL, "Ant.x", 1).simulated == ("Ant.x",)


SHAPE = tuple(KNOWN.present["Ant"].shape)
MISSING = Snapshot.of(
    KNOWN.schema,
    {**KNOWN.values, "Ant": {f: v for f, v in KNOWN.values["Ant"].items() if f != "push"}},
)
LONGER = Snapshot(
    KNOWN.schema,
    {**KNOWN.values, "Ant": {**KNOWN.values["Ant"], "x": torch.zeros(3, 7)}},
    KNOWN.present,
    KNOWN.observed,
)


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (
            MISSING,
            f"Dynamics.step: values['Ant']['push']: expected shape {SHAPE} (batch, object, ...), "
            "got none. Make it with with_actions.",
        ),
        (
            LONGER,
            f"Dynamics.step: values['Ant']['x']: expected shape {SHAPE} (batch, object, ...), got "
            "shape (3, 7). Make it with Snapshot.of.",
        ),
        (
            knobs.DATA.transitions().before,
            "Dynamics.step: expected a state of the model's schema, got another one: classes "
            "['Ant', 'Rock', 'Nest'] against ['Knob', 'Lamp'] (model against state). Give a state "
            "of the model's world.",
        ),
    ],
)
def test_what_a_state_lacks_is_told(before: Snapshot, message: str) -> None:
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        Dynamics(FULL).step(before, 0)


def test_a_state_of_an_equal_schema_will_do() -> None:
    schema = oocdm.Schema.from_json(KNOWN.schema.to_json())
    other = Snapshot(schema, KNOWN.values, KNOWN.present, KNOWN.observed)
    dynamics = Dynamics(FULL)
    for _ in range(2):
        assert torch.equal(dynamics.step(other, 0)["Ant", "x"], dynamics.step(KNOWN, 0)["Ant", "x"])


def test_states_may_be_changed_through_numpy() -> None:
    env = oocdm.make("mouse")
    data = oocdm.collect(env, steps=50, seed=0)
    result = SimpleNamespace(model=random_model(data), graph=env.true_graph)
    dynamics, state = Dynamics(result), data.transitions().before.map(torch.clone)
    dynamics.step(state, seed=0)
    state["Mouse", "position"].numpy()[:] = 7
    state.present["Trap"].numpy()[:, 0] = False
    found, expected = dynamics.step(state, seed=0), Dynamics(result).step(state, seed=0)
    for c, f in (("Mouse", "position"), ("Mouse", "health"), ("Trap", "duration")):
        assert torch.equal(found[c, f], expected[c, f]), f"{c}.{f}"
