"""What no action reaches is simulated once for all tries of a plan, and nothing changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oocdm
from oocdm import ClassGraph, Snapshot
from oocdm.inference import Dynamics, with_actions
from oocdm.inference.random_numbers import Part
from oocdm.inference.tries import Tries
from tests.inference.ragged import ragged, random_model

SEEDS = st.integers(0, 2**20)
RAGGED, WHOLE = ragged(), ragged(is_whole=True)
MODELS = {preset: random_model(WHOLE, preset) for preset in ("default", "paper")}


def _some_absent(state: Snapshot) -> Snapshot:
    present = {c: mask.clone() for c, mask in state.present.items()}
    for mask in present.values():
        mask[1:4, 1] = False
    return Snapshot.of(state.schema, state.values, present)


KNOWN = WHOLE.transitions(slice(0, 6)).before
SOME_ROWS = (range(32), range(32, 64), range(64, 90))
STATES = {
    "all there": KNOWN,
    "some absent": _some_absent(KNOWN),
    "some unknown": RAGGED.transitions(slice(0, 6)).before,
}


def pushes(state: Snapshot, seed: int) -> dict[str, dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    return {"Ant": {"push": torch.randn(state.present["Ant"].shape, generator=generator)}}


def fitted(graph: ClassGraph, preset: str = "default") -> Any:
    return SimpleNamespace(model=MODELS[preset], graph=graph)


@settings(max_examples=40)
@given(
    st.sampled_from(list(STATES)),
    st.sampled_from(list(MODELS)),
    st.sampled_from([None, "Ant.x", "Nest.food"]),
    st.floats(0.0, 0.3),
    st.sampled_from([None, 0, 200]),
    SEEDS,
)
def test_every_try_is_as_if_it_were_the_only_one(
    which: str, preset: str, read: str | None, density: float, room: int | None, seed: int
) -> None:
    state = STATES[which]
    graph = ClassGraph.random(WHOLE.schema, density, np.random.default_rng(seed))
    dynamics = Dynamics(fitted(graph, preset), read, None if read is None else 3)
    tries = Tries(dynamics, seed, room)
    for tried, rows in enumerate((6, 6, 4, 6, 4)):  # as planners that try fewer and fewer
        ours = theirs = state.map(lambda tensor, rows=rows: tensor[:rows].clone())
        for t in range(3):
            actions = pushes(ours, 10 * tried + t)
            ours = tries.step(with_actions(ours, actions), seed + t)
            theirs = dynamics.step(with_actions(theirs, actions), seed + t)
            for c, fields in theirs.values.items():
                for f, expected in fields.items():
                    assert torch.equal(ours[c, f], expected), f"{c}.{f}"
                    assert ours[c, f].dtype == expected.dtype
                    assert torch.equal(ours.observed[c][f], theirs.observed[c][f])


@pytest.mark.parametrize("room", [None, 0, 20_000])
@pytest.mark.parametrize("preset", MODELS)
def test_parts_go_on_as_the_whole(preset: str, room: int | None) -> None:
    many = KNOWN.map(lambda tensor: tensor.repeat(15, *[1] * (tensor.ndim - 1)))
    graph = ClassGraph.random(WHOLE.schema, 0.2, np.random.default_rng(0))
    dynamics = Dynamics(fitted(graph, preset))
    tries, push = Tries(dynamics, 5, room), pushes(many, 0)["Ant"]["push"]
    for _ in range(2):
        whole = many
        parts = {rows: many.map(lambda t, rows=rows: t[list(rows)]) for rows in SOME_ROWS}
        for t in range(3):
            whole = dynamics.step(with_actions(whole, {"Ant": {"push": push}}), 5 + t)
            for rows in SOME_ROWS:
                before = with_actions(parts[rows], {"Ant": {"push": push[list(rows)]}})
                parts[rows] = tries.step(before, 5 + t, Part(rows.start, total=90))
        for rows, part in parts.items():
            for c, fields in whole.values.items():
                for f, expected in fields.items():
                    assert torch.equal(part[c, f], expected[list(rows)]), f"{c}.{f}"


# ---------------------------------------------------------------- a mouse, whose world is known

ENV = oocdm.make("mouse", num_food=(1, 3))
DATA = oocdm.collect(ENV, steps=60, seed=0)
RESULT: Any = SimpleNamespace(model=random_model(DATA), graph=ENV.true_graph)
STATE = DATA.transitions(slice(0, 8)).before


class Asked:
    """What a predictor is asked for."""

    def __init__(self, dynamics: Dynamics, monkeypatch: pytest.MonkeyPatch) -> None:
        each, self.fields = dynamics._predictor.each, list[str]()

        def watched(before: Snapshot) -> Any:
            predictions = each(before)

            class Watched:
                def __getitem__(_, key: tuple[str, str]) -> Any:
                    self.fields.append(".".join(key))
                    return predictions[key]

            return Watched()

        monkeypatch.setattr(dynamics._predictor, "each", watched)


def test_what_no_action_reaches_is_predicted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dynamics = Dynamics(RESULT)
    asked, tries = Asked(dynamics, monkeypatch), Tries(dynamics, 0)
    for _ in range(3):
        state = STATE
        for t in range(2):
            move = {"Mouse": {"move": STATE["Mouse", "move"]}}
            state = tries.step(with_actions(state, move), t)
    assert asked.fields.count("Monster.noise") == 2
    assert asked.fields.count("Mouse.position") == 6  # at once
    assert asked.fields.count("Mouse.health") == 1 + 3  # one step later


def test_actions_that_reach_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [edge for edge in ENV.true_graph.edges() if edge.source_field != "move"]
    graph = ClassGraph.of_edges(DATA.schema, edges)
    dynamics = Dynamics(SimpleNamespace(model=RESULT.model, graph=graph))
    asked, tries = Asked(dynamics, monkeypatch), Tries(dynamics, 0)
    first, second = (tries.step(STATE, 0) for _ in range(2))
    assert len(asked.fields) == len(dynamics.simulated)
    for name in dynamics.simulated:
        c, _, f = name.partition(".")
        assert torch.equal(first[c, f], second[c, f])


def test_what_is_handed_out_may_be_changed() -> None:
    tries, dynamics = Tries(Dynamics(RESULT), 0), Dynamics(RESULT)
    expected = dynamics.step(STATE, 0)
    for _ in range(3):
        after = tries.step(STATE, 0)
        for c, fields in expected.values.items():
            for f, value in fields.items():
                assert torch.equal(after[c, f], value), f"{c}.{f}"
                if f"{c}.{f}" in dynamics.simulated:
                    after[c, f].numpy()[:] = 0  # behind torch's back
