"""Effects that a graph rules out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oocdm import ClassGraph, ObjectClass, Real, Schema, check_world
from oocdm.worlds import WorldState
from oocdm.worlds.contradictions import contradictions
from tests.worlds.balls import SCHEMA, Balls, State, changed, with_field


@pytest.mark.parametrize("edge", [str(edge) for edge in Balls.true_graph.edges()])
def test_every_edge_that_a_graph_lacks_is_found(edge: str) -> None:
    parts = [e for e in Balls.true_graph.edges() if str(e) != edge]
    (told,) = check_world(
        type("Broken", (Balls,), {"true_graph": ClassGraph.of_edges(SCHEMA, parts)})()
    )
    target, source = edge.split(" <- ")
    assert told.startswith(
        f"Broken.true_graph: expected no effect of `{source}` on `{target}`, got one: with "
    )
    assert told.endswith(f"Add `{edge}` to the graph, or correct `step`.")


def test_effects_between_objects_of_a_class_are_not_those_within_one() -> None:
    def shift(found: Any, state: WorldState, *_: Any) -> Any:
        x = np.roll(state.values["Ball"]["x"], 1, axis=1)
        return with_field(
            "Ball", "v", lambda v: v + x[..., None] * state.present["Ball"][..., None]
        )(found)

    (told,) = check_world(changed("step", shift))
    assert told.startswith("Broken.true_graph: expected no effect of `Ball[*].x` on `Ball.v`, got")


def test_random_numbers_that_depend_on_the_state_are_told() -> None:
    def draw(found: Any, state: WorldState, actions: State, rng: np.random.Generator) -> Any:
        rng.normal(size=int((state.values["Ball"]["x"] > 0).sum()))
        return found

    (told,) = check_world(changed("step", draw))
    assert told.startswith("Broken.true_graph: cannot be checked: expected as many random numbers")


def test_each_effect_is_told_once_and_leaves_the_state_alone() -> None:
    world, rng = Balls(), np.random.default_rng(0)
    state = world.reset(40, rng)
    values = {**state.values, "Ball": {**state.values["Ball"]}}
    values["Ball"]["push"] = world.random_actions(state, rng)["Ball"]["push"]
    before = WorldState(values, state.present)
    kept = {f: v.copy() for f, v in values["Ball"].items()}
    told = list(contradictions(world, ClassGraph.of_edges(SCHEMA, []), before, seed=0))
    edges = [text.partition("Add `")[2].partition("`")[0] for text in told]
    assert sorted(edges) == sorted(str(edge) for edge in world.true_graph.edges())
    for f, v in kept.items():
        np.testing.assert_array_equal(values["Ball"][f], v)


class Spring(ObjectClass):
    x = Real()
    rest = Real(static=True)


@pytest.mark.parametrize("size", [2.0**-40, 1.0, 2.0**40])
def test_effects_are_seen_in_any_unit(size: float) -> None:
    """Also those of a length that is the same everywhere: it is changed by as much as it is."""

    def step(state: WorldState, actions: State, rng: np.random.Generator) -> Any:
        spring = dict(state.values["Spring"])
        spring["x"] = 0.5 * spring["x"] + spring["rest"]
        return WorldState({"Spring": spring}, state.present), None, None

    schema, there = Schema(Spring), np.ones((8, 1), bool)
    x = size * np.random.default_rng(0).normal(size=(8, 1))
    before = WorldState({"Spring": {"x": x, "rest": np.full((8, 1), size)}}, {"Spring": there})
    world: Any = SimpleNamespace(schema=schema, step=step)
    told = list(contradictions(world, ClassGraph.of_edges(schema, []), before, seed=0))
    assert [text.partition("Add `")[2].partition("`")[0] for text in told] == [
        "Spring.x <- self.x",
        "Spring.x <- self.rest",
    ]
