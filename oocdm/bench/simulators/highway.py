"""Logs of highway-env: cars on three lanes that follow, brake and overtake."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np

from oocdm.bench.simulators.highway_cases import braked_cars
from oocdm.bench.simulators.highway_reads import READS
from oocdm.bench.simulators.simulator import Name, Simulator, not_installed
from oocdm.schema import Categorical, ObjectClass, Real, Schema
from oocdm.worlds.read_objects import Objects

LANES = 3
CARS = (3, 10)  # other cars of an episode, the least and the most
HERTZ = 5  # steps a second; each is one frame of the simulator, so that nothing happens in between
SECONDS = 20  # of an episode
ACTIONS = ("left", "idle", "right", "faster", "slower")  # in the order of DiscreteMetaAction
BUSY = 0.2  # the share of steps in which the driver does anything at all


class Ego(ObjectClass):
    """The car that is driven; `lane` and `wanted` are those that it steers and speeds up to."""

    x = Real()
    y = Real()
    heading = Real()
    speed = Real()
    lane = Categorical(LANES)
    wanted = Real()
    action = Categorical(ACTIONS, action=True)


class Car(ObjectClass):
    """Another car; `timer` is the time since it last thought of changing lanes."""

    x = Real()
    y = Real()
    heading = Real()
    speed = Real()
    lane = Categorical(LANES)
    timer = Real()
    wanted = Real(static=True)
    delta = Real(static=True)


SCHEMA = Schema(Ego, Car)


def make_highway(numbers: Mapping[str, int] | None = None) -> gymnasium.Env[Any, Any]:
    """The environment; without a number of cars each episode draws it."""
    try:
        import highway_env  # noqa: F401, registers the environments
    except ImportError:
        raise not_installed("highway-env") from None
    config = {
        "lanes_count": LANES,
        "vehicles_count": CARS[1],
        "simulation_frequency": HERTZ,
        "policy_frequency": HERTZ,
        "duration": SECONDS,
    }
    env = gymnasium.make("highway-fast-v0", config=config)
    return _DrawnCars(env, *(CARS if numbers is None else 2 * (numbers["Car"],)))


class _DrawnCars(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Draws the number of cars at each reset."""

    def __init__(self, env: gymnasium.Env[Any, Any], least: int, most: int) -> None:
        super().__init__(env)
        self._least, self._most = least, most
        self._rng = np.random.default_rng(0)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        config: dict[str, Any] = self.env.unwrapped.config  # type: ignore[attr-defined]
        config["vehicles_count"] = int(self._rng.integers(self._least, self._most + 1))
        return self.env.reset(seed=seed, options=options)


def vehicles(env: Any) -> dict[Name, Any]:
    """The simulator's own objects, by class and name."""
    ego, *others = env.unwrapped.road.vehicles
    return {("Ego", 0): ego, **{("Car", i): car for i, car in enumerate(others)}}


_GETTERS: Mapping[str, Callable[[Any], Any]] = {
    "x": lambda v: v.position[0],
    "y": lambda v: v.position[1],
    "heading": lambda v: v.heading,
    "speed": lambda v: v.speed,
    "lane": lambda v: v.target_lane_index[2],
    "wanted": lambda v: v.target_speed,
    "timer": lambda v: v.timer,
    "delta": lambda v: v.DELTA,
}
_ATTRIBUTES = {"wanted": "target_speed", "delta": "DELTA"}


def value_of(vehicle: Any, field: str) -> Any:
    """The value of a field of one of the simulator's objects."""
    return _GETTERS[field](vehicle)


def change(vehicle: Any, field: str, value: Any) -> None:
    """Give a field of one of the simulator's objects another value."""
    if field in ("x", "y"):
        vehicle.position[("x", "y").index(field)] = value
    elif field == "lane":
        vehicle.target_lane_index = (*vehicle.target_lane_index[:2], int(value))
    else:
        setattr(vehicle, _ATTRIBUTES.get(field, field), float(value))
    vehicle.on_state_update()  # which lane it is on


def read_action(action: Any) -> Objects:
    """What the driver does."""
    return {"Ego": {0: {"action": int(action)}}}


def to_action(objects: Objects) -> int:
    """The action of the environment in which the driver does that."""
    return int(objects["Ego"][0]["action"])


def drive(observation: Any, rng: np.random.Generator) -> int:
    """Mostly nothing, now and then anything."""
    is_busy = rng.random() < BUSY
    return int(rng.integers(len(ACTIONS))) if is_busy else ACTIONS.index("idle")


HIGHWAY = Simulator(
    name="highway",
    package="highway-env",
    version="1.12.0",
    schema=SCHEMA,
    make=make_highway,
    copy=copy.deepcopy,
    objects=vehicles,
    value=value_of,
    change=change,
    act=drive,
    read_action=read_action,
    to_action=to_action,
    reads=READS,
    cases=braked_cars,
    strong=0.5,  # metres a second
)
