"""Walker: a robot of seven parts that learns to walk, simulated by MuJoCo."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from oocdm.data.log import Arrays
from oocdm.envs.option_checks import check_count
from oocdm.envs.walker.engine import NUM_JOINTS, NUM_SEEN, Engine
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.task import Task
from oocdm.worlds.world import AbstractWorld, WorldState

COST = 0.001  # of a squared torque
LOWEST, HIGHEST, MOST_ANGLE = 0.8, 2.0, 1.0  # of a healthy robot
ENGINE = "engine"  # the name of MuJoCo's states in the memory of ours


class Joint(ObjectClass):
    """A joint: thigh, leg and foot on the right, then the same on the left.

    >>> Joint.targets()
    ('angle', 'angular_velocity')
    """

    angle = Real()
    angular_velocity = Real()
    torque = Real(-1.0, 1.0, action=True)


class Top(ObjectClass):
    """The trunk, to which both legs are fixed.

    >>> Top.targets()
    ('angle', 'angular_velocity', 'x_velocity', 'z', 'z_velocity')
    """

    angle = Real()
    angular_velocity = Real()
    x_velocity = Real()
    z = Real()
    z_velocity = Real()


SCHEMA = Schema(Joint, Top)

# Where fields stand in an observation of Gymnasium.
PLACES: Mapping[str, Mapping[str, slice]] = {
    "Joint": {"angle": slice(2, 8), "angular_velocity": slice(11, 17)},
    "Top": {
        "angle": slice(1, 2),
        "angular_velocity": slice(10, 11),
        "x_velocity": slice(8, 9),
        "z": slice(0, 1),
        "z_velocity": slice(9, 10),
    },
}


class WalkerWorld(AbstractWorld):
    """Gymnasium's Walker2d as of its version 4: six joints, and the trunk on top of them.

    A step applies the torques for 8 milliseconds (four frames). All velocities are logged as
    Gymnasium observes them, cut off at 10. The position along the way is left out. Episodes start
    upright and are cut after `max_episode_steps`; a fall does not end them. The random policy draws
    torques from -1 to 1.

    The reward of a step reads the state before it: 1 if the robot is healthy (0.8 < z < 2 and
    -1 < angle < 1), plus `Top.x_velocity`, less 0.001 for the sum of squared torques.

    There is no `true_graph`: all parts are fixed to each other, so that in truth everything
    depends on nearly everything, a little. MuJoCo comes with the extra `oocdm[walker]`.

    >>> world = WalkerWorld()
    >>> rng = np.random.default_rng(0)
    >>> state = world.reset(2, rng)
    >>> state, reward, terminated = world.step(state, world.random_actions(state, rng), rng)
    >>> state.values["Joint"]["angle"].shape
    (2, 6)
    """

    def __init__(self, *, max_episode_steps: int = 500) -> None:
        self.max_episode_steps = check_count("max_episode_steps", max_episode_steps, low=1)
        self.schema = SCHEMA
        self.task = Task(reward=_reward, reads=READS)
        self.max_objects = {"Joint": NUM_JOINTS, "Top": 1}

    @cached_property
    def _engine(self) -> Engine:
        return Engine()  # only when it is needed: it loads MuJoCo

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_engine"}

    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        """Start episodes: upright, each number moved by up to 0.005."""
        engines = [self._engine.reset(rng) for _ in range(num_worlds)]
        return _state(engines, [self._engine.observe(each) for each in engines])

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> Arrays:
        """Torques from -1 to 1."""
        shape = state.present["Joint"].shape
        return {"Joint": {"torque": rng.uniform(-1.0, 1.0, shape).astype(np.float32)}}

    def step(
        self, state: WorldState, actions: Arrays, rng: np.random.Generator
    ) -> tuple[WorldState, np.ndarray, np.ndarray]:
        """One step of every world, one after the other; nothing is drawn."""
        torques = actions["Joint"]["torque"]
        found = [
            self._engine.step(engine, torque)
            for engine, torque in zip(self._engines(state), torques, strict=True)
        ]
        reward = _reward_of(state.values["Top"], torques)
        after = _state([engine for engine, _ in found], [seen for _, seen in found])
        return after, reward, np.zeros(len(torques), dtype=bool)

    def _engines(self, state: WorldState) -> np.ndarray:
        """MuJoCo's states: those remembered, else what the fields say."""
        if ENGINE in state.memory:
            return state.memory[ENGINE]
        return np.array([self._engine.state_of(seen) for seen in seen_of(state)])


def seen_of(state: WorldState) -> np.ndarray:
    """The observations of Gymnasium that states stand for, (world, 17).

    >>> world = WalkerWorld()
    >>> seen_of(world.reset(3, np.random.default_rng(0))).shape
    (3, 17)
    """
    seen = np.empty((len(state.present["Top"]), NUM_SEEN), dtype=np.float32)
    for c, places in PLACES.items():
        for f, place in places.items():
            seen[:, place] = state.values[c][f]
    return seen


def _state(engines: list[np.ndarray], seen: list[np.ndarray]) -> WorldState:
    numbers = np.array(seen, dtype=np.float32).reshape(len(seen), NUM_SEEN)
    values = {
        c: {f: numbers[:, place] for f, place in places.items()} for c, places in PLACES.items()
    }
    present = {c: np.ones(fields["angle"].shape, dtype=bool) for c, fields in values.items()}
    return WorldState(values, present, {ENGINE: np.array(engines)})


# What follows works on NumPy arrays and on tensors alike, so that the world and its task
# cannot disagree.
READS = ("Top.angle", "Top.x_velocity", "Top.z", "Joint.torque")


def is_healthy(z: Any, angle: Any) -> Any:
    """Whether the robot stands."""
    return (z > LOWEST) & (z < HIGHEST) & (abs(angle) < MOST_ANGLE)


def _reward_of(top: Mapping[str, Any], torques: Any) -> Any:
    healthy = 1.0 * is_healthy(top["z"], top["angle"])
    return (healthy + top["x_velocity"])[:, 0] - COST * (torques**2).sum(1)


def _reward(before: Any, after: Any) -> Any:
    top = {name: before["Top", name] for name in ("z", "angle", "x_velocity")}
    return _reward_of(top, before["Joint.torque"])
