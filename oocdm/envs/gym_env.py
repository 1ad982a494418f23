"""Any of our worlds as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from oocdm.data.world import AbstractWorld, WorldState
from oocdm.errors import DataError, OocdmError, SchemaError, suggest
from oocdm.graph import ClassGraph
from oocdm.schema import Categorical, Field, Schema
from oocdm.task import Task

Draw = Callable[[WorldState], np.ndarray]
Observation = dict[str, dict[str, np.ndarray]]
Action = Mapping[str, Mapping[str, Any]]

PRESENT = "present"


class WorldGym(gymnasium.Env[Any, Any]):
    """One world as a Gymnasium environment with padded Dict spaces.

    An observation is `{class: {field: (max_objects, *shape), ..., "present": (max_objects,)}}`;
    rows with `present` 0 hold no object and are 0. An action is `{class: {field: values}}` for
    the classes that act; what it says for absent objects is ignored. Episodes are cut after
    `world.max_episode_steps`.

    `seed` is that of the first `reset()` without one of its own. `draw` makes a picture of a
    state and allows `render_mode="rgb_array"`.

    >>> from oocdm.envs.block import BlockWorld
    >>> env = WorldGym(BlockWorld(num_blocks=2), seed=0)
    >>> observation, info = env.reset()
    >>> observation["Block"]["s1"].shape
    (2,)
    >>> action = {"Block": {"a": np.zeros(2, dtype=np.float32)}}
    >>> observation, reward, terminated, truncated, info = env.step(action)
    >>> reward, terminated, truncated
    (0.0, False, False)
    """

    observation_space: spaces.Dict[Any]
    action_space: spaces.Dict[Any]

    def __init__(
        self,
        world: AbstractWorld,
        *,
        seed: int | None = None,
        render_mode: str | None = None,
        draw: Draw | None = None,
    ) -> None:
        modes = [] if draw is None else ["rgb_array"]
        if render_mode is not None and render_mode not in modes:
            raise OocdmError(
                f"render_mode={render_mode!r} is not available for {type(world).__name__}. "
                f"Known: {', '.join(modes) or 'none, this world has no picture'}."
            )
        self.metadata = {"render_modes": modes, "render_fps": 8}
        self.render_mode = render_mode
        self.world = world
        self.observation_space = _observation_space(world)
        self.action_space = _action_space(world)
        self._draw = draw
        self._first_seed = seed
        self._state: WorldState | None = None
        self._num_steps = 0

    @property
    def schema(self) -> Schema:
        """The classes and fields of the world."""
        return self.world.schema

    @property
    def true_graph(self) -> ClassGraph | None:
        """The causal graph of the world, if it is known."""
        return self.world.true_graph

    @property
    def task(self) -> Task | None:
        """Reward and termination, if the world has a task."""
        return self.world.task

    @property
    def max_objects(self) -> Mapping[str, int]:
        """The number of rows of each class."""
        return self.world.max_objects

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode."""
        if seed is None:
            seed, self._first_seed = self._first_seed, None
        super().reset(seed=seed)
        self._state = self.world.reset(1, self.np_random)
        self._num_steps = 0
        return self._observe(), {}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One step of the world."""
        state = self._current()
        actions = self._read_action(action, state)
        self._state, reward, terminated = self.world.step(state, actions, self.np_random)
        self._num_steps += 1
        truncated = self._num_steps >= self.world.max_episode_steps
        return self._observe(), float(reward[0]), bool(terminated[0]), truncated, {}

    def render(self) -> np.ndarray | None:
        """A picture of the world as it is, (height, width, 3), if a render mode was chosen."""
        if self.render_mode is None or self._draw is None:
            return None
        return self._draw(self._current())

    def _current(self) -> WorldState:
        if self._state is None:
            raise DataError("This environment has no state yet. Call reset() first.")
        return self._state

    def _observe(self) -> Observation:
        seen = self.world.observe(self._current(), self.np_random)
        return {
            name: {
                # A copy, because worlds may share what does not change from step to step.
                **{f: v[0].astype(self.schema.field(name, f).dtype) for f, v in fields.items()},
                PRESENT: seen.present[name][0].astype(np.int8),
            }
            for name, fields in seen.values.items()
        }

    def _read_action(self, action: Action, state: WorldState) -> dict[str, dict[str, np.ndarray]]:
        read: dict[str, dict[str, np.ndarray]] = {}
        _check_names("classes", action, self.action_space.spaces)
        for name, fields in _acting(self.world).items():
            _check_names(f"fields of `{name}`", action[name], fields)
            read[name] = {}
            for field_name, field in fields.items():
                values = np.asarray(action[name][field_name], dtype=field.dtype)
                expected = (self.max_objects[name], *field.shape)
                if values.shape != expected:
                    raise DataError(
                        f"Action `{name}.{field_name}`: expected shape {expected}, "
                        f"got {values.shape}."
                    )
                present = state.present[name].reshape(1, -1, *(1 for _ in field.shape))
                values = np.where(present, values, field.dtype(0))
                if not np.isfinite(values).all() or field.out_of_domain(values).any():
                    raise DataError(
                        f"Action `{name}.{field_name}`: expected values within "
                        f"[{field.low}, {field.high}], got {values[0].tolist()}."
                    )
                read[name][field_name] = values
        return read


def _check_names(what: str, given: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    for name in given:
        if name not in expected:
            raise DataError(f"Action: unknown {what}, `{name}`. {suggest(name, expected)}")
    missing = [name for name in expected if name not in given]
    if missing:
        raise DataError(f"Action: missing {what}: {', '.join(missing)}.")


# ---------------------------------------------------------------- spaces


def _acting(world: AbstractWorld) -> dict[str, dict[str, Field]]:
    """The action fields of each class that has any."""
    acting = {}
    for name in world.schema.classes:
        fields = {f: field for f, field in world.schema.fields(name).items() if field.action}
        if fields:
            acting[name] = fields
    return acting


def _action_space(world: AbstractWorld) -> spaces.Dict[Any]:
    return spaces.Dict(
        {
            name: spaces.Dict(
                {f: _space(field, world.max_objects[name], np.inf) for f, field in fields.items()}
            )
            for name, fields in _acting(world).items()
        }
    )


def _observation_space(world: AbstractWorld) -> spaces.Dict[Any]:
    largest = float(np.finfo(np.float32).max)
    classes: dict[str, spaces.Space[Any]] = {}
    for name in world.schema.classes:
        rows = world.max_objects[name]
        fields = {f: v for f, v in world.schema.fields(name).items() if not v.action}
        if PRESENT in fields:
            raise SchemaError(
                f"Field `{name}.{PRESENT}`: the name `{PRESENT}` is reserved for the mask of "
                "observations. Rename the field."
            )
        inner: dict[str, spaces.Space[Any]] = {
            f: _space(field, rows, largest) for f, field in fields.items()
        }
        inner[PRESENT] = spaces.MultiBinary(rows)
        classes[name] = spaces.Dict(inner)
    return spaces.Dict(classes)


def _space(field: Field, rows: int, open_end: float) -> spaces.Space[Any]:
    """The space of one field of all objects of a class.

    An open end is infinite in actions: Gymnasium then samples N(0, 1), as Block's random
    policy does. In observations it is the largest float, as good as infinite and without the
    warning of Gymnasium's checker.
    """
    shape = (rows, *field.shape)
    if isinstance(field, Categorical) or field.kind == "boolean":
        return spaces.MultiDiscrete(np.full(shape, field.num_values, dtype=np.int64))
    # Absent objects hold 0, which therefore has to lie in the space.
    if field.dtype is np.float32:
        low = -open_end if field.low is None else min(field.low, 0.0)
        high = open_end if field.high is None else max(field.high, 0.0)
        return spaces.Box(np.float32(low), np.float32(high), shape, np.float32)
    info = np.iinfo(np.int64)
    lowest = int(info.min) if field.low is None else min(int(field.low), 0)
    highest = int(info.max) - 1 if field.high is None else max(int(field.high), 0)
    return spaces.Box(lowest, highest, shape, np.int64)
