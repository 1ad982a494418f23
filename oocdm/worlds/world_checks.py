"""What the functions of a world return, checked: people write worlds themselves."""

from __future__ import annotations

import numpy as np

from oocdm.errors import OocdmError
from oocdm.schema import Schema
from oocdm.worlds.world import WorldState


def check_step(where: str, found: object, num_worlds: int, error: type[OocdmError]) -> None:
    """Raise `error` unless a step of so many worlds gave a next state, rewards and ends.

    >>> state = WorldState({"Ball": {"x": np.zeros((7, 3))}}, {"Ball": np.ones((7, 3), bool)})
    >>> check_step("Balls.step", (state, np.zeros(7), np.zeros(7, bool)), 7, OocdmError)
    """
    if not isinstance(found, tuple) or len(found) != 3:
        got = f"{len(found)} values" if isinstance(found, tuple) else type(found).__name__
        raise error(
            f"{where}: expected a tuple of the next state, reward and terminated, got {got}. Where "
            "episodes are cut is the world's max_episode_steps."
        )
    _, reward, terminated = found
    if np.shape(reward) != (num_worlds,):
        raise error(
            f"{where}: reward: expected an array of shape ({num_worlds},), a number a world, got "
            f"shape {np.shape(reward)}. Sum over objects, as x.sum(axis=1), not over worlds."
        )
    is_finite = np.isfinite(reward)
    if not is_finite.all():
        raise error(
            f"{where}: reward: expected finite numbers, got {np.asarray(reward)[~is_finite][0]} in "
            f"{int((~is_finite).sum())} of {num_worlds} worlds. Look for divisions by 0, "
            "logarithms and roots."
        )
    kind = str(getattr(terminated, "dtype", type(terminated).__name__))
    if np.shape(terminated) != (num_worlds,) or kind != "bool":
        raise error(
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
    if not isinstance(state, WorldState):
        raise error(f"{where}: expected a WorldState, got {type(state).__name__}.")
    for c in schema.classes:
        mask = state.present.get(c)
        shape = () if mask is None else np.shape(mask)
        if len(shape) != 2 or shape[0] != num_worlds:
            raise error(
                f"{where}: present[{c!r}]: expected booleans of shape ({num_worlds}, objects), "
                f"got {shape_of(mask)}. It says which objects there are in each world."
            )
        for f, field in schema.fields(c).items():
            if field.action:
                continue
            values = state.values.get(c, {}).get(f)
            expected = shape + field.shape
            if values is None or np.shape(values) != expected:
                raise error(
                    f"{where}: values[{c!r}][{f!r}]: expected an array of shape {expected} "
                    f"(world, object, ...), got {shape_of(values)}. A state has every field of the "
                    "schema but the actions."
                )


def shape_of(array: np.ndarray | None) -> str:
    """In words, the shape of what may be missing.

    >>> shape_of(np.zeros((2, 3))), shape_of(None)
    ('shape (2, 3)', 'nothing')
    """
    return "nothing" if array is None else f"shape {np.shape(array)}"
