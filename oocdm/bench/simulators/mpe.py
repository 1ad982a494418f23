"""Logs of mpe2: predators and prey that run into one another and into obstacles.

Of the package's scenarios `simple_tag` has most to find: two classes of agents, with sizes,
strengths and greatest speeds of their own, that push one another and are stopped by obstacles, and
numbers of each that may be chosen. In `simple_spread` there is one class of agents, and its
landmarks push nobody.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from oocdm.bench.simulators.mpe_cases import agents_in_the_way
from oocdm.bench.simulators.mpe_reads import READS
from oocdm.bench.simulators.simulator import Name, Simulator, not_installed
from oocdm.schema import Categorical, ObjectClass, Real, Schema
from oocdm.worlds.read_objects import Objects

# The least and the most of an episode, which draws them: a scenario has fixed numbers, so that
# each episode is an environment of its own.
NUMBERS = {"Predator": (2, 4), "Prey": (2, 4), "Landmark": (1, 3)}
STEPS = 50  # of an episode
MOVES = ("stay", "left", "right", "down", "up")  # in the order of the package
# The share of steps in which an agent makes for another one or an obstacle, drawn anew in each.
# Agents that always do anything at all soon drift apart, and only 5 % of them touch something;
# with this it is 30 %.
MEETING = 0.8

# Sizes, masses and the strength of moves differ between classes and not within them: they are no
# fields. Obstacles do not move, so that they have no velocity.


class Predator(ObjectClass):
    """An adversary: larger and slower."""

    x = Real()
    y = Real()
    vx = Real()
    vy = Real()
    move = Categorical(MOVES, action=True)


class Prey(ObjectClass):
    """A good agent: smaller and faster."""

    x = Real()
    y = Real()
    vx = Real()
    vy = Real()
    move = Categorical(MOVES, action=True)


class Landmark(ObjectClass):
    """An obstacle, which stays where it is for an episode."""

    x = Real(static=True)
    y = Real(static=True)


SCHEMA = Schema(Predator, Prey, Landmark)
_PREFIXES = {"Predator": "adversary", "Prey": "agent"}  # of the names of agents
_PLACES = {"x": ("p_pos", 0), "y": ("p_pos", 1), "vx": ("p_vel", 0), "vy": ("p_vel", 1)}


def make_mpe(numbers: Mapping[str, int] | None = None) -> _DrawnTeams:
    """The environment; without numbers each episode draws them."""
    # Else pygame greets on standard output, where --json writes.
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        from mpe2 import simple_tag_v3
    except ImportError:
        raise not_installed("mpe2") from None

    def build(numbers: Mapping[str, int]) -> Any:
        return simple_tag_v3.parallel_env(
            num_adversaries=numbers["Predator"],
            num_good=numbers["Prey"],
            num_obstacles=numbers["Landmark"],
            max_cycles=STEPS,
        )

    given = {c: (n, n) for c, n in numbers.items()} if numbers is not None else NUMBERS
    return _DrawnTeams(build, given)


class _DrawnTeams:
    """Draws the numbers of agents and obstacles at each reset; in parallel, as in PettingZoo."""

    def __init__(
        self, build: Callable[[Mapping[str, int]], Any], ranges: Mapping[str, tuple[int, int]]
    ) -> None:
        self._build, self._ranges = build, ranges
        self._rng = np.random.default_rng(0)
        self._env = self._largest = build({c: most for c, (_, most) in ranges.items()})
        self.possible_agents: list[str] = self._largest.possible_agents

    @property
    def agents(self) -> list[str]:
        """Those of this episode; none when it is over."""
        agents: list[str] = self._env.agents
        return agents

    @property
    def unwrapped(self) -> Any:
        """The package's own environment of this episode."""
        return self._env.unwrapped

    def action_space(self, agent: str) -> Any:
        """What an agent can do."""
        return self._largest.action_space(agent)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode with other numbers."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        drawn = {c: int(self._rng.integers(a, b + 1)) for c, (a, b) in self._ranges.items()}
        self._env = self._build(drawn)
        found: tuple[Any, dict[str, Any]] = self._env.reset(seed=int(self._rng.integers(2**31)))
        return found

    def step(self, actions: Mapping[str, int]) -> tuple[Any, ...]:
        """One step of all agents."""
        found: tuple[Any, ...] = self._env.step(actions)
        return found

    def close(self) -> None:
        """Nothing to do: no window was opened."""


def copy_mpe(env: _DrawnTeams) -> _DrawnTeams:
    """Another environment in the same state: deep copies of the package's begin anew."""
    numbers = dict.fromkeys(NUMBERS, 0)
    for c, _ in entities(env):
        numbers[c] += 1
    twin = make_mpe(numbers)
    twin.reset(seed=0)
    twin.unwrapped.world = copy.deepcopy(env.unwrapped.world)
    return twin


def entities(env: Any) -> dict[Name, Any]:
    """The simulator's own objects, by class and number."""
    world = env.unwrapped.world
    of_class = {
        "Predator": [agent for agent in world.agents if agent.adversary],
        "Prey": [agent for agent in world.agents if not agent.adversary],
        "Landmark": world.landmarks,
    }
    return {(c, i): entity for c, found in of_class.items() for i, entity in enumerate(found)}


def value_of(entity: Any, field: str) -> float:
    """The value of a field of one of the simulator's objects."""
    vector, axis = _PLACES[field]
    return float(getattr(entity.state, vector)[axis])


def change(entity: Any, field: str, value: float) -> None:
    """Give a field of one of the simulator's objects another value."""
    vector, axis = _PLACES[field]
    getattr(entity.state, vector)[axis] = value


def read_action(action: Mapping[str, int]) -> Objects:
    """What the agents do."""
    found: dict[str, dict[str | int, dict[str, Any]]] = {c: {} for c in _PREFIXES}
    for agent, move in action.items():
        prefix, _, number = agent.partition("_")
        (c,) = (c for c, known in _PREFIXES.items() if known == prefix)
        found[c][int(number)] = {"move": int(move)}
    return found


def to_action(objects: Objects) -> dict[str, int]:
    """The action of the environment in which the agents do that."""
    return {
        f"{prefix}_{number}": int(does["move"])
        for c, prefix in _PREFIXES.items()
        for number, does in objects[c].items()
    }


def roam(observation: Mapping[str, np.ndarray], rng: np.random.Generator) -> dict[str, int]:
    """Each agent makes for another object, drawn at random, or does anything at all."""
    return {agent: _move(agent, observation, rng) for agent in observation}


def _move(agent: str, observation: Mapping[str, np.ndarray], rng: np.random.Generator) -> int:
    if rng.random() >= MEETING:
        return int(rng.integers(len(MOVES)))
    # After its own velocity and position an agent sees where obstacles and other agents are, and
    # last the velocities of other prey.
    prey = sum(other != agent and other.startswith(_PREFIXES["Prey"]) for other in observation)
    seen = observation[agent]
    away = rng.choice(seen[4 : len(seen) - 2 * prey].reshape(-1, 2))
    axis = int(rng.random() * np.abs(away).sum() < np.abs(away[1]))
    return 1 + 2 * axis + int(away[axis] > 0)


MPE = Simulator(
    name="mpe",
    package="mpe2",
    version="1.1.1",
    schema=SCHEMA,
    make=make_mpe,
    copy=copy_mpe,
    objects=entities,
    value=value_of,
    change=change,
    act=roam,
    read_action=read_action,
    to_action=to_action,
    reads=READS,
    cases=agents_in_the_way,
    strong=0.05,  # a third to a half of an agent's width
)
