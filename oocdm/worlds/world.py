"""What `collect` needs of a simulator: many worlds of objects stepped side by side in NumPy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from oocdm.data.log import Arrays
from oocdm.errors import OocdmError
from oocdm.graph import ClassGraph, VariableGraph
from oocdm.schema import Schema
from oocdm.task import Task


@dataclass(frozen=True)
class WorldState:
    """The objects of many worlds at one moment, as NumPy arrays.

    `values[class][field]` is (world, object, *shape); `present[class]` (world, object). A simulator
    may keep more than fields say in `memory[name]`, (world, ...), which is never logged.

    >>> state = WorldState({"Ball": {"x": np.zeros((7, 3))}}, {"Ball": np.ones((7, 3), bool)})
    >>> state.select(np.array([0, 2])).values["Ball"]["x"].shape
    (2, 3)
    """

    values: Arrays
    present: Mapping[str, np.ndarray]
    memory: Mapping[str, np.ndarray] = field(default_factory=dict)

    def select(self, worlds: np.ndarray | int) -> WorldState:
        """The state of some of the worlds; of a single one, without the axis of worlds."""
        return WorldState(
            {c: {f: v[worlds] for f, v in fields.items()} for c, fields in self.values.items()},
            {c: v[worlds] for c, v in self.present.items()},
            {name: v[worlds] for name, v in self.memory.items()},
        )


class AbstractWorld(ABC):
    """A simulator of many worlds at once; randomness comes only from the given generator."""

    schema: Schema
    max_episode_steps: int
    max_objects: Mapping[str, int]
    true_graph: ClassGraph | None = None
    task: Task | None = None

    @abstractmethod
    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        """Start `num_worlds` episodes; values hold every field but the actions."""

    @abstractmethod
    def random_actions(self, state: WorldState, rng: np.random.Generator) -> Arrays:
        """The random policy: values of the action fields."""

    @abstractmethod
    def step(
        self, state: WorldState, actions: Arrays, rng: np.random.Generator
    ) -> tuple[WorldState, np.ndarray, np.ndarray]:
        """One step of every world: next state, reward (world,), terminated (world,).

        A planner that tries what the world would do steps states of values alone, without memory.
        """

    @property
    def true_variable_graph(self) -> VariableGraph | None:
        """Where objects of a class differ: the graph of all variables, if it is known."""
        return None

    def observe(self, state: WorldState, rng: np.random.Generator) -> WorldState:
        """What is logged of a state; a world with observation noise adds it here."""
        return state


World = AbstractWorld | gymnasium.Env[Any, Any]  # an environment stands for the world in it


def world_of(where: str, given: object, error: type[OocdmError], advice: str = "") -> AbstractWorld:
    """The world itself, also if one of oocdm's environments around it is given.

    >>> import oocdm
    >>> type(world_of("collect", oocdm.make("mouse"), OocdmError)).__name__
    'MouseWorld'
    """
    world = given
    if not isinstance(given, AbstractWorld):
        world = getattr(getattr(given, "unwrapped", None), "world", None)
    if not isinstance(world, AbstractWorld):
        raise error(
            f"{where}: expected an environment from oocdm.make or an oocdm.AbstractWorld, got "
            f"{type(given).__name__}. {advice}".strip()
        )
    return world
