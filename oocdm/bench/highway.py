"""Logs of highway-env: cars on three lanes that follow, brake and overtake."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.errors import OocdmError
from oocdm.schema import Categorical, ObjectClass, Real, Schema
from oocdm.worlds import record

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


def make_highway() -> gymnasium.Env[Any, Any]:
    """The environment; each episode draws its number of cars."""
    try:
        import highway_env  # noqa: F401, registers the environments
    except ImportError:
        raise OocdmError(
            "bench logs: expected the package highway-env, which is not installed. Write "
            'pip install "oocdm[logs]".'
        ) from None
    config = {
        "lanes_count": LANES,
        "vehicles_count": CARS[1],
        "simulation_frequency": HERTZ,
        "policy_frequency": HERTZ,
        "duration": SECONDS,
    }
    return _DrawnCars(gymnasium.make("highway-fast-v0", config=config))


class _DrawnCars(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Draws the number of cars at each reset."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self._rng = np.random.default_rng(0)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        config: dict[str, Any] = self.env.unwrapped.config  # type: ignore[attr-defined]
        config["vehicles_count"] = int(self._rng.integers(CARS[0], CARS[1] + 1))
        return self.env.reset(seed=seed, options=options)


def vehicles(env: Any) -> dict[tuple[str, int], Any]:
    """The simulator's own objects, by class and name."""
    ego, *others = env.unwrapped.road.vehicles
    return {("Ego", 0): ego, **{("Car", i): car for i, car in enumerate(others)}}


GETTERS: Mapping[str, Callable[[Any], Any]] = {
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


def change(vehicle: Any, field: str, value: Any) -> None:
    """Give a field of one of the simulator's objects another value."""
    if field in ("x", "y"):
        vehicle.position[("x", "y").index(field)] = value
    elif field == "lane":
        vehicle.target_lane_index = (*vehicle.target_lane_index[:2], int(value))
    else:
        setattr(vehicle, _ATTRIBUTES.get(field, field), float(value))
    vehicle.on_state_update()  # which lane it is on


def read_highway(env: Any) -> dict[str, dict[str | int, dict[str, Any]]]:
    """The objects as `oocdm.record` wants them."""
    found: dict[str, dict[str | int, dict[str, Any]]] = {"Ego": {}, "Car": {}}
    for (c, name), vehicle in vehicles(env).items():
        fields = SCHEMA.fields(c)
        found[c][name] = {f: GETTERS[f](vehicle) for f, kind in fields.items() if not kind.action}
    return found


def read_action(action: Any) -> dict[str, dict[str | int, dict[str, Any]]]:
    """What the driver does."""
    return {"Ego": {0: {"action": int(action)}}}


def drive(observation: Any, rng: np.random.Generator) -> int:
    """Mostly nothing, now and then anything."""
    is_busy = rng.random() < BUSY
    return int(rng.integers(len(ACTIONS))) if is_busy else ACTIONS.index("idle")


def log_highway(
    steps: int, seed: int, progress: Callable[[int, int], None] | None = None
) -> Dataset:
    """Log transitions of the environment."""
    return record(
        make_highway(),
        read_highway,
        drive,
        schema=SCHEMA,
        steps=steps,
        seed=seed,
        read_action=read_action,
        progress=progress,
    )
