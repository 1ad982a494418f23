"""A world of one's own, broken in one way at a time: each is told, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import gymnasium
import numpy as np
import pytest

import oocdm
from oocdm import ClassGraph, Schema, Task, check_world
from oocdm.worlds import WorldState
from tests.worlds.balls import SCHEMA, Ball, Balls, State, changed, with_field


def test_a_world_without_mistakes() -> None:
    assert check_world(Balls()) == []


@pytest.mark.parametrize("name", ["mouse", "block", "asymblock", "generated"])
def test_environments_stand_for_their_worlds(name: str) -> None:
    env = oocdm.make(name)
    assert check_world(env) == check_world(gymnasium.wrappers.TimeLimit(env, 5)) == []


def test_a_world_may_step_its_state_in_place() -> None:
    def add(found: Any, state: WorldState, *_: Any) -> Any:
        state.values["Wall"]["hits"] += 1
        return found

    assert check_world(changed("step", add)) == []


def test_memory_must_follow_from_the_random_numbers_alone() -> None:
    def remember(found: Any, *_: Any) -> Any:
        memory = {"engine": np.random.default_rng().normal(size=len(found[1]))}
        return replace(found[0], memory=memory), *found[1:]

    (told,) = check_world(changed("step", remember))
    assert told.startswith("Broken.step: expected the same results from the same arguments")


@pytest.mark.parametrize(
    ("graph", "told"),
    [
        ("Ball[0].x <- Ball[0].x", "expected a VariableGraph or None, got str."),
        (
            ClassGraph.full(SCHEMA).ground({"Ball": 2, "Wall": 1}),
            "expected all variables of as many objects as max_objects says, 16 inputs and 10 "
            "outputs, got 11 and 7, or other ones.",
        ),
        (ClassGraph.full(SCHEMA).ground({"Ball": 3, "Wall": 1}), None),
    ],
)
def test_a_graph_of_variables_has_all_of_them(graph: Any, told: str | None) -> None:
    world = type("Broken", (Balls,), {"true_variable_graph": graph})()
    assert check_world(world) == ([f"Broken.true_variable_graph: {told}"] if told else [])


def noisy(values: np.ndarray) -> np.ndarray:
    return values + np.random.default_rng().normal(size=values.shape)


def give_nan(values: np.ndarray) -> np.ndarray:
    return np.where(values == values.max(), np.nan, values)


@pytest.mark.parametrize(
    ("function", "change", "told"),
    [
        ("reset", lambda s, *_: s.values, "Broken.reset: expected a WorldState, got dict."),
        (
            "reset",
            lambda s, *_: WorldState(s.values, {c: p.astype(int) for c, p in s.present.items()}),
            "Broken.reset: present['Ball']: expected booleans of shape (16, 3), as max_objects "
            "says, got dtype int64 and shape (16, 3).",
        ),
        (
            "reset",
            with_field("Ball", "is_hot", lambda v: np.where(v, "hot", "cold")),
            "Broken.reset: values['Ball']['is_hot']: expected numbers, got dtype <U4. Give",
        ),
        (
            "reset",
            with_field("Ball", "x", lambda v: v + 0.5),
            "Broken.reset: values['Ball']['x']: expected 0 in rows that are no objects, got 0.5.",
        ),
        (
            "step",
            with_field("Ball", "v", lambda v: v[..., 0]),
            "Broken.step: values['Ball']['v']: expected an array of shape (16, 3, 2) (world, "
            "object, ...), got shape (16, 3).",
        ),
        (
            "step",
            with_field("Ball", "x", lambda v: 100 * v),
            "Broken.step: `Ball.x`: expected a finite number from -9 to 9, got ",
        ),
        (
            "step",
            with_field("Wall", "hits", give_nan),
            "Broken.step: `Wall.hits`: expected a finite number, got nan. The schema declares",
        ),
        (
            "step",
            with_field("Ball", "mass", lambda v: 1.5 * v),
            "Broken.step: static field `Ball.mass`: expected one value within an episode, got ",
        ),
        (
            "step",
            with_field("Wall", "hits", noisy),
            "Broken.step: expected the same results from the same arguments and random numbers",
        ),
        (
            "reset",
            with_field("Wall", "hits", noisy),
            "Broken.reset: expected the same results from the same arguments and random numbers",
        ),
        (
            "step",
            lambda found, *_: (found[0], found[1].sum(), found[2]),
            "Broken.step: reward: expected an array of shape (16,), a number a world, got shape ()",
        ),
        (
            "step",
            lambda found, *_: (*found, {}),
            "Broken.step: expected a tuple of the next state, reward and terminated, got 4 values.",
        ),
        (
            "random_actions",
            lambda found, *_: {},
            "Broken.random_actions: actions for `Ball.push`: expected an array of shape (16, 3)",
        ),
        (
            "random_actions",
            lambda found, *_: None,
            "Broken.random_actions: expected {class: {field: array}}, got NoneType.",
        ),
        (
            "random_actions",
            lambda found, *_: {"Ball": {"push": 3 + found["Ball"]["push"]}},
            "Broken.random_actions: `Ball.push`: expected a finite number from -1 to 1, got ",
        ),
        (
            "random_actions",
            lambda found, *_: {"Ball": {**found["Ball"], "pull": found["Ball"]["push"]}},
            "Broken.random_actions: expected fields of the schema, got `Ball.pull`. Remove it.",
        ),
        (
            "random_actions",
            lambda found, state, _: state.values["Wall"]["hits"].fill(7) or found,
            "Broken.random_actions: expected a state that it only reads, got changes in place.",
        ),
        (
            "step",
            lambda found, state, actions, _: actions["Ball"]["push"].fill(0) or found,
            "Broken.step: expected actions that it only reads, got changes in place. Copy",
        ),
        (
            "observe",
            with_field("Ball", "is_hot", lambda v: v + 7),
            "Broken.observe: `Ball.is_hot`: expected a whole number from 0 to 1, got ",
        ),
        (
            "step",
            lambda found, *_: 1 / 0,
            "Broken.step: expected it to run, got ZeroDivisionError: division by zero",
        ),
    ],
)
def test_what_functions_return(function: str, change: Callable[..., Any], told: str) -> None:
    found = check_world(changed(function, change))
    assert any(text.startswith(told) for text in found), found


def test_all_problems_are_told_at_once() -> None:
    class Broken(Balls):
        task = Task(lambda before, after: after["Wall", "hits"], reads=["Wall.hit"])
        true_graph = ClassGraph.empty(Schema(Ball))

        def step(self, state: WorldState, actions: State, rng: np.random.Generator) -> Any:
            after, reward, ended = super().step(state, actions, rng)
            after.values["Ball"]["x"] = after.values["Ball"]["x"] + 50
            return after, reward, ended

    found = check_world(Broken())
    starts = [
        "Broken.true_graph: expected a graph over the world's schema, got another, which differs",
        "Broken.task: expected `reads` to name fields of the schema. Unknown field `Wall.hit`.",
        "Broken.step: `Ball.x`: expected a finite number from -9 to 9, got ",
        "Broken.step: values['Ball']['x']: expected 0 in rows that are no objects, got 50.0.",
    ]
    assert all(any(text.startswith(start) for text in found) for start in starts), found
    assert len(found) == len(set(found)) < 7


def test_missing_declarations_and_functions() -> None:
    class Nothing:
        max_objects = MappingProxyType({"Ball": 0})
        schema = SCHEMA

        def reset(self, num_worlds: int) -> None:
            """Without a generator."""

    assert check_world(Nothing()) == [
        "Nothing.reset: expected a function of (num_worlds, rng), got one of (num_worlds: 'int') "
        "-> 'None'.",
        "Nothing.random_actions: expected a function of (state, rng), got NoneType. Subclass "
        "oocdm.AbstractWorld and write it.",
        "Nothing.step: expected a function of (state, actions, rng), got NoneType. Subclass "
        "oocdm.AbstractWorld and write it.",
        "Nothing.max_episode_steps: expected a whole number from 1 on, got None.",
        "Nothing.max_objects['Ball']: expected the number of rows of the class, 1 or more, got 0.",
        "Nothing.max_objects['Wall']: expected the number of rows of the class, 1 or more, got "
        "None.",
    ]
    assert check_world(3)[0] == "int.schema: expected a Schema, got NoneType."


def test_anything_with_the_functions_is_run() -> None:
    class Duck:
        schema, max_episode_steps, max_objects = SCHEMA, 5, Balls.max_objects
        reset, random_actions, step = Balls.reset, Balls.random_actions, Balls.step

    (told,) = check_world(Duck())
    assert told.startswith("Duck: expected a subclass of oocdm.AbstractWorld, got none; `collect`")


def test_what_a_world_remembers() -> None:
    """Worlds that draw something an episode, and keep it beside the state."""

    class Windy(Balls):
        def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
            self.wind = rng.normal()
            return super().reset(num_worlds, rng)

        def step(self, state: WorldState, actions: State, rng: np.random.Generator) -> Any:
            return with_field("Wall", "hits", lambda v: v + self.wind)(
                super().step(state, actions, rng)
            )

    (told,) = check_world(Windy())
    assert told.startswith("Windy.step: expected a step that depends on its arguments alone, got")


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (Task(lambda b, a: a["Wall", "hits"], reads=["Wall.hits"]), "reward: expected one value a"),
        (Task(lambda b, a: a["Ball", "x"][:, 0]), "expected it to run, got Task: reward or termin"),
        (Task(lambda b, a: 1 / 0), "expected it to run, got ZeroDivisionError: division by zero"),
        (len, "expected a Task or None, got builtin_function_or_method."),
    ],
)
def test_tasks(task: Any, told: str) -> None:
    (found,) = check_world(type("Broken", (Balls,), {"task": task})())
    assert found.startswith(f"Broken.task: {told}")


# ---------------------------------------------------------------- the graph


def test_a_step_that_cannot_take_other_values_is_told() -> None:
    def refuse(found: Any, state: WorldState, *_: Any) -> Any:
        if (state.values["Wall"]["hits"] == 0).all(1).sum() > 20 or len(found[1]) > 16:
            raise ValueError("a mass that nobody knows")
        return found

    (told,) = check_world(changed("step", refuse))
    assert told.startswith("Broken.true_graph: cannot be checked: expected `step` to take states")
