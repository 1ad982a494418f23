"""Observations and actions as flat vectors, for learning algorithms that take nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, final

import numpy as np
from gymnasium import spaces

from oocdm.errors import PlanError
from oocdm.planning.actions import action_fields, is_choice
from oocdm.schema import Field, Schema
from oocdm.worlds.spaces import PRESENT, Observation


@final
class FlatSpaces:
    """Flat views of the observations and actions of worlds with so many rows a class.

    An observation is one vector: bounded numbers scaled to [-1, 1], open ones as they are, a
    one-hot code for each choice, and who is present; absent objects are 0 throughout.

    If all actions are choices, an action is a `MultiDiscrete`, or a `Discrete` if there is only
    one. Otherwise it is a `Box` with bounded numbers scaled to [-1, 1] and, for each choice, a
    score a value, of which the highest counts.

    >>> from oocdm.schema import Boolean, ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real(0.0, 10.0)
    ...     hop = Boolean(action=True)
    >>> flat = FlatSpaces(Schema(Ball), {"Ball": 2})
    >>> flat.action_space
    MultiDiscrete([2 2])
    >>> flat.observe({"Ball": {"x": np.array([[5.0, 10.0]]), "present": np.array([[1, 1]])}})
    array([[0., 1., 1., 1.]], dtype=float32)
    >>> flat.read(np.array([[1, 0]]))["Ball"]["hop"]
    array([[1, 0]])
    """

    def __init__(self, schema: Schema, max_objects: Mapping[str, int]) -> None:
        self.schema = schema
        self.max_objects = max_objects
        self.observation_space = self._observation_space()
        self.action_space = self._action_space()

    def observe(self, observation: Observation) -> np.ndarray:
        """Observations of many worlds, (world, object, ...) a field, as (world, number)."""
        parts = []
        for c in self.schema.classes:
            present = observation[c][PRESENT]
            for f, field in self.schema.fields(c).items():
                if not field.action:
                    numbers = _encode(field, observation[c][f]).reshape(*present.shape, -1)
                    parts.append((numbers * present[..., None]).reshape(len(present), -1))
            parts.append(present)
        return np.concatenate(parts, 1, dtype=np.float32)

    def read(self, actions: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
        """Flat actions of many worlds as (world, object, ...) a class and field."""
        num_worlds = len(actions)
        numbers = np.asarray(actions).reshape(num_worlds, -1)
        width = sum(each for *_, each in self._actions())
        if numbers.shape[1] != width:
            raise PlanError(
                f"Flat action: expected {width} numbers a world, got {numbers.shape[1]}. They are "
                f"those of {self.action_space}."
            )
        read: dict[str, dict[str, np.ndarray]] = {}
        start = 0
        for c, f, field, width in self._actions():
            part = numbers[:, start : start + width]
            start += width
            values = part if self._are_choices else _decode(field, part)
            shape = (num_worlds, self.max_objects[c], *field.shape)
            read.setdefault(c, {})[f] = values.reshape(shape).astype(field.dtype)
        return read

    @property
    def _are_choices(self) -> bool:
        return not isinstance(self.action_space, spaces.Box)

    def _actions(self) -> Iterator[tuple[str, str, Field, int]]:
        """Class name, field name, field, and how many flat numbers it has."""
        for c, f, field in action_fields(self.schema):
            scores = is_choice(field) and not self._are_choices
            width = field.num_codes if scores else 1
            yield c, f, field, self.max_objects[c] * field.size * width

    def _observation_space(self) -> spaces.Box:
        ends = []
        largest = float(np.finfo(np.float32).max)  # as good as infinite
        for c in self.schema.classes:
            rows = self.max_objects[c]
            for field in self.schema.fields(c).values():
                if not field.action:
                    width = rows * field.size * (field.num_codes if is_choice(field) else 1)
                    end = 1.0 if is_choice(field) or _is_bounded(field) else largest
                    ends += [(0.0 if is_choice(field) else -end, end)] * width
            ends += [(0.0, 1.0)] * rows
        low, high = np.array(ends, np.float32).T
        return spaces.Box(low, high, dtype=np.float32)

    def _action_space(self) -> spaces.Space[Any]:
        fields = [
            (field, self.max_objects[c] * field.size) for c, _, field in action_fields(self.schema)
        ]
        if not fields:
            raise PlanError(
                f"{self.schema}: expected at least one action field, got none, so there is nothing "
                "to learn. Declare what can be chosen, such as push = Real(action=True)."
            )
        if all(is_choice(field) for field, _ in fields):
            values = np.concatenate([np.full(n, field.num_codes) for field, n in fields])
            return spaces.Discrete(values[0]) if len(values) == 1 else spaces.MultiDiscrete(values)
        ends: list[float] = []
        for field, n in fields:
            width = field.num_codes if is_choice(field) else 1
            ends += [1.0 if is_choice(field) or _is_bounded(field) else np.inf] * n * width
        high = np.array(ends, np.float32)
        return spaces.Box(-high, high, dtype=np.float32)


def _is_bounded(field: Field) -> bool:
    return field.low is not None and field.high is not None


def _encode(field: Field, values: np.ndarray) -> np.ndarray:
    """A field's values as numbers that a network can read, with one more axis for choices."""
    if is_choice(field):
        return np.eye(field.num_codes, dtype=np.float32)[values]
    if field.low is None or field.high is None:
        return values
    scaled: np.ndarray = 2 * (values - field.low) / (field.high - field.low) - 1
    return np.clip(scaled, -1, 1)  # a float32 may be rounded to beyond an end


def _decode(field: Field, numbers: np.ndarray) -> np.ndarray:
    """The values that flat numbers of a field stand for."""
    if is_choice(field):
        chosen: np.ndarray = numbers.reshape(len(numbers), -1, field.num_codes).argmax(-1)
        return chosen
    if field.low is not None and field.high is not None:
        numbers = field.low + (np.clip(numbers, -1, 1) + 1) / 2 * (field.high - field.low)
    if not field.is_real:
        numbers = np.round(numbers)
    # A float32 may be rounded to beyond an end.
    return field.clip(numbers.astype(field.dtype))
