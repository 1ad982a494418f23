"""Worlds of objects in Gymnasium's terms: padded Dict spaces, observations and actions.

True and learned worlds share them, so that a policy of one can act in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from oocdm.data.values import check_allowed, read_numbers
from oocdm.errors import DataError, SchemaError, suggest
from oocdm.schema import Boolean, Categorical, Field, Schema
from oocdm.worlds.world import WorldState

Observation = dict[str, dict[str, np.ndarray]]
Action = Mapping[str, Mapping[str, Any]]

PRESENT = "present"


def observation_space(schema: Schema, max_objects: Mapping[str, int]) -> spaces.Dict[Any]:
    """The space of `{class: {field: (max_objects, *shape), ..., "present": (max_objects,)}}`.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real(0.0, 1.0)
    ...     push = Real(action=True)
    >>> observation_space(Schema(Ball), {"Ball": 3})
    Dict('Ball': Dict('present': MultiBinary(3), 'x': Box(0.0, 1.0, (3,), float32)))
    """
    classes: dict[str, spaces.Space[Any]] = {}
    for name in schema.classes:
        rows = max_objects[name]
        fields = {f: v for f, v in schema.fields(name).items() if not v.action}
        if PRESENT in fields:
            raise SchemaError(
                f"Field `{name}.{PRESENT}`: the name `{PRESENT}` is reserved for the mask of "
                "observations. Rename the field."
            )
        inner: dict[str, spaces.Space[Any]] = {
            f: _space(field, rows) for f, field in fields.items()
        }
        inner[PRESENT] = spaces.MultiBinary(rows)
        classes[name] = spaces.Dict(inner)
    return spaces.Dict(classes)


def action_space(schema: Schema, max_objects: Mapping[str, int]) -> spaces.Dict[Any]:
    """The space of `{class: {field: (max_objects, *shape)}}` for the classes that act.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(-1.0, 1.0, action=True)
    >>> action_space(Schema(Ball), {"Ball": 3})
    Dict('Ball': Dict('push': Box(-1.0, 1.0, (3,), float32)))
    """
    return spaces.Dict(
        {
            name: spaces.Dict({f: _space(field, max_objects[name]) for f, field in fields.items()})
            for name, fields in _acting(schema).items()
        }
    )


def observation_of(schema: Schema, state: WorldState) -> Observation:
    """What an agent sees of a state, of one world or of many.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> state = WorldState({"Ball": {"x": np.zeros((7, 3))}}, {"Ball": np.ones((7, 3), bool)})
    >>> observation_of(Schema(Ball), state)["Ball"]["x"].shape
    (7, 3)
    """
    return {
        name: {
            # A copy, because worlds may share what does not change from step to step.
            **{f: v.astype(schema.field(name, f).dtype) for f, v in fields.items()},
            PRESENT: state.present[name].astype(np.int8),
        }
        for name, fields in state.values.items()
    }


def read_action(
    schema: Schema, action: Action, present: Mapping[str, np.ndarray]
) -> dict[str, dict[str, np.ndarray]]:
    """An action as arrays, checked; what it says for absent objects becomes 0.

    `present[class]` is (object,) for the action of one world, (world, object) for those of many.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(action=True)
    >>> present = {"Ball": np.array([True, False])}
    >>> read_action(Schema(Ball), {"Ball": {"push": [1, 1]}}, present)["Ball"]["push"]
    array([1., 0.], dtype=float32)
    """
    acting = _acting(schema)
    _check_names("classes", action, acting)
    read: dict[str, dict[str, np.ndarray]] = {}
    for name, fields in acting.items():
        _check_names(f"fields of `{name}`", action[name], fields)
        read[name] = {
            f: _read_values(f"Action `{name}.{f}`", field, action[name][f], present[name])
            for f, field in fields.items()
        }
    return read


def _read_values(where: str, field: Field, given: Any, present: np.ndarray) -> np.ndarray:
    values = read_numbers(where, field, given, DataError)
    expected = (*present.shape, *field.shape)
    if values.shape != expected:
        raise DataError(f"{where}: expected shape {expected}, got {values.shape}.")
    check_allowed(where, field, values[present], DataError)
    is_there = present.reshape(*present.shape, *(1 for _ in field.shape))
    return np.where(is_there, values, 0).astype(field.dtype)


def _check_names(what: str, given: Any, expected: Mapping[str, Any]) -> None:
    if not isinstance(given, Mapping):
        raise DataError(
            f"Action: expected a dictionary of {what} ({', '.join(expected)}), got {given!r}. Give "
            "actions as {class: {field: values}}."
        )
    for name in given:
        if name not in expected:
            raise DataError(f"Action: unknown {what}, `{name}`. {suggest(name, expected)}")
    missing = [name for name in expected if name not in given]
    if missing:
        raise DataError(f"Action: missing {what}: {', '.join(missing)}.")


def _acting(schema: Schema) -> dict[str, dict[str, Field]]:
    """The action fields of each class that has any."""
    acting = {}
    for name in schema.classes:
        fields = {f: field for f, field in schema.fields(name).items() if field.action}
        if fields:
            acting[name] = fields
    return acting


def _space(field: Field, rows: int) -> spaces.Space[Any]:
    """The space of one field of all objects of a class.

    An open end is infinite in actions: Gymnasium then samples N(0, 1), as Block's random
    policy does. In observations it is the largest float, as good as infinite and without the
    warning of Gymnasium's checker.
    """
    shape = (rows, *field.shape)
    if isinstance(field, Boolean | Categorical):
        return spaces.MultiDiscrete(np.full(shape, field.num_codes, dtype=np.int64))
    low, high = field.low, field.high
    if not field.action:  # absent objects are seen as 0, which therefore has to lie in the space
        low, high = (None if low is None else min(low, 0)), (None if high is None else max(high, 0))
    if field.is_real:
        end = np.inf if field.action else float(np.finfo(np.float32).max)
        lowest, highest = (-end if low is None else low), (end if high is None else high)
        return spaces.Box(np.float32(lowest), np.float32(highest), shape, np.float32)
    info = np.iinfo(np.int64)
    lowest = int(info.min if low is None else low)
    highest = int(info.max - 1 if high is None else high)
    return spaces.Box(lowest, highest, shape, np.int64)
