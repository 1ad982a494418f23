"""Any of our worlds as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from oocdm.errors import DataError, OocdmError
from oocdm.graph import ClassGraph, VariableGraph
from oocdm.reading import Seed, checked
from oocdm.schema import Schema
from oocdm.task import Task
from oocdm.worlds.spaces import (
    Action,
    Observation,
    action_space,
    observation_of,
    observation_space,
    read_action,
)
from oocdm.worlds.world import AbstractWorld, WorldState

Draw = Callable[[WorldState], np.ndarray]


class WorldGym(gymnasium.Env[Any, Any]):
    """One world as a Gymnasium environment with padded Dict spaces.

    An observation is `{class: {field: (max_objects, *shape), ..., "present": (max_objects,)}}`;
    rows with `present` 0 hold no object and are 0. An action is `{class: {field: values}}` for
    the classes that act; what it says for absent objects is ignored. Episodes are cut after
    `world.max_episode_steps`.

    `seed` is that of the first `reset()` without one of its own. `draw` makes a picture of a
    state and allows `render_mode="rgb_array"`; `frames_a_second` is how fast they are best shown.

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

    @checked(OocdmError)
    def __init__(
        self,
        world: AbstractWorld,
        *,
        seed: Seed | None = None,
        render_mode: str | None = None,
        draw: Draw | None = None,
        frames_a_second: int = 8,
    ) -> None:
        modes = [] if draw is None else ["rgb_array"]
        if render_mode is not None and render_mode not in modes:
            raise OocdmError(
                f"render_mode={render_mode!r} is not available for {type(world).__name__}. "
                f"Known: {', '.join(modes) or 'none, this world has no picture'}."
            )
        self.metadata = {"render_modes": modes, "render_fps": frames_a_second}
        self.render_mode = render_mode
        self.world = world
        self.observation_space = observation_space(world.schema, world.max_objects)
        self.action_space = action_space(world.schema, world.max_objects)
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
    def true_variable_graph(self) -> VariableGraph | None:
        """Where objects of a class differ: the graph of all variables, if it is known."""
        return self.world.true_variable_graph

    @property
    def task(self) -> Task | None:
        """Reward and termination, if the world has a task."""
        return self.world.task

    @property
    def max_objects(self) -> Mapping[str, int]:
        """The number of rows of each class."""
        return self.world.max_objects

    @checked(OocdmError)
    def reset(
        self, *, seed: Seed | None = None, options: dict[str, Any] | None = None
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
        chosen = read_action(self.schema, action, {c: p[0] for c, p in state.present.items()})
        actions = {c: {f: v[None] for f, v in fields.items()} for c, fields in chosen.items()}
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
        return observation_of(self.schema, seen.select(0))
