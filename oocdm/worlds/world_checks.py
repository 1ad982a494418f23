"""What the functions of a world return, checked: people write worlds themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from oocdm.data.log import Arrays
from oocdm.errors import OocdmError
from oocdm.schema import Schema
from oocdm.worlds.world import WorldState


def check_step(where: str, found: object, num_worlds: int, error: type[OocdmError]) -> None:
    """Raise `error` unless a step of so many worlds gave a next state, rewards and ends.

    >>> state = WorldState({"Ball": {"x": np.zeros((7, 3))}}, {"Ball": np.ones((7, 3), bool)})
    >>> check_step("Balls.step", (state, np.zeros(7), np.zeros(7, bool)), 7, OocdmError)
    """
    for problem in step_problems(where, found, num_worlds):
        raise error(problem)


def step_problems(where: str, found: Any, num_worlds: int) -> Iterator[str]:
    """What is wrong with that which a step returned, the next state aside.

    >>> print(*step_problems("Balls.step", (None, np.zeros(7), np.zeros(7)), 7))
    Balls.step: terminated: expected an array of shape (7,) and dtype bool, one a world, got \
shape (7,) and dtype float64. If episodes never end, return np.zeros(7, bool).
    """
    if not isinstance(found, tuple) or len(found) != 3:
        got = f"{len(found)} values" if isinstance(found, tuple) else type(found).__name__
        yield (
            f"{where}: expected a tuple of the next state, reward and terminated, got {got}. Where "
            "episodes are cut is the world's max_episode_steps."
        )
        return
    _, reward, terminated = found
    if np.shape(reward) != (num_worlds,):
        yield (
            f"{where}: reward: expected an array of shape ({num_worlds},), a number a world, got "
            f"shape {np.shape(reward)}. Sum over objects, as x.sum(axis=1), not over worlds."
        )
    elif (dtype := np.asarray(reward).dtype).kind not in "biuf":
        yield f"{where}: reward: expected numbers, got an array of dtype {dtype}."
    elif not (is_finite := np.isfinite(reward)).all():
        yield (
            f"{where}: reward: expected finite numbers, got {np.asarray(reward)[~is_finite][0]} in "
            f"{int((~is_finite).sum())} of {num_worlds} worlds. Look for divisions by 0, "
            "logarithms and roots."
        )
    kind = str(getattr(terminated, "dtype", type(terminated).__name__))
    if np.shape(terminated) != (num_worlds,) or kind != "bool":
        yield (
            f"{where}: terminated: expected an array of shape ({num_worlds},) and dtype bool, one "
            f"a world, got shape {np.shape(terminated)} and dtype {kind}. If episodes never end, "
            f"return np.zeros({num_worlds}, bool)."
        )


def check_state(
    where: str, schema: Schema, state: object, num_worlds: int, error: type[OocdmError]
) -> None:
    """Raise `error` unless this is a state of so many worlds of that schema.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> state = WorldState({"Ball": {"x": np.zeros((7, 3))}}, {"Ball": np.ones((7, 3), bool)})
    >>> check_state("Balls.reset", Schema(Ball), state, 7, OocdmError)
    """
    for problem in state_problems(where, schema, state, num_worlds):
        raise error(problem)


def state_problems(where: str, schema: Schema, state: object, num_worlds: int) -> Iterator[str]:
    """What is wrong with the arrays of a state, whatever stands in them.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> list(state_problems("Balls.reset", Schema(Ball), None, 7))
    ['Balls.reset: expected a WorldState, got NoneType.']
    """
    if not isinstance(state, WorldState):
        yield f"{where}: expected a WorldState, got {type(state).__name__}."
        return
    for c in schema.classes:
        mask = state.present.get(c)
        shape = () if mask is None else np.shape(mask)
        if len(shape) != 2 or shape[0] != num_worlds:
            yield (
                f"{where}: present[{c!r}]: expected booleans of shape ({num_worlds}, objects), "
                f"got {shape_of(mask)}. It says which objects there are in each world."
            )
            continue
        for f, field in schema.fields(c).items():
            if field.action:
                continue
            values = state.values.get(c, {}).get(f)
            expected = shape + field.shape
            if values is None or np.shape(values) != expected:
                yield (
                    f"{where}: values[{c!r}][{f!r}]: expected an array of shape {expected} "
                    f"(world, object, ...), got {shape_of(values)}. A state has every field of the "
                    "schema but the actions."
                )


def action_problems(
    where: str, schema: Schema, actions: Arrays, present: Mapping[str, np.ndarray]
) -> Iterator[str]:
    """What is wrong with the arrays of actions for the objects of some worlds.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x, push = Real(), Real(action=True)
    >>> actions = {"Ball": {"push": np.zeros(3)}}
    >>> print(*action_problems("a policy's", Schema(Ball), actions, {"Ball": np.ones((7, 3))}))
    a policy's actions for `Ball.push`: expected an array of shape (7, 3) (world, object, ...), \
got shape (3,). Return {class: {field: array}}.
    """
    for c in schema.classes:
        for f, field in schema.fields(c).items():
            expected = (*present[c].shape, *field.shape)
            values = actions.get(c, {}).get(f) if field.action else None
            if field.action and (values is None or np.shape(values) != expected):
                yield (
                    f"{where} actions for `{c}.{f}`: expected an array of shape {expected} "
                    f"(world, object, ...), got {shape_of(values)}. Return "
                    "{class: {field: array}}."
                )


def shape_of(array: np.ndarray | None) -> str:
    """In words, the shape of what may be missing.

    >>> shape_of(np.zeros((2, 3))), shape_of(None)
    ('shape (2, 3)', 'nothing')
    """
    return "nothing" if array is None else f"shape {np.shape(array)}"
