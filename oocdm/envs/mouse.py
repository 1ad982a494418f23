"""Mouse: a grid world with food to eat, monsters to avoid and traps that hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from oocdm.data.log import Arrays
from oocdm.envs.mouse_tasks import seen_tasks, unseen_tasks
from oocdm.envs.option_checks import check_choice, check_count, check_range
from oocdm.envs.padding import present_rows, zero_absent
from oocdm.errors import OocdmError
from oocdm.graph import ClassGraph
from oocdm.reading import CountOrZero, read
from oocdm.schema import Categorical, Integer, ObjectClass, Real, Schema
from oocdm.task import Task
from oocdm.worlds.world import AbstractWorld, WorldState

GRID = 8
MOVES = ("north", "south", "east", "west", "stay")
STEPS = np.array([(0, 1), (0, -1), (1, 0), (-1, 0), (0, 0)])  # (x, y) of each move
MAX_HEALTH, MAX_HUNGER, MAX_AMOUNT, MAX_DURATION = 10.0, 100.0, 50.0, 4
STARVING, FULL, DAMAGE = 25.0, 75.0, 5.0
NUMBERED = ("Food", "Monster", "Trap")  # the classes whose number of objects is an option

Count = int | tuple[int, int]
Fields = Mapping[str, np.ndarray]  # of one class

_GRAPH = (
    "Mouse.health <- self.health, self.hunger, self.position, Monster[*].position",
    "Mouse.hunger <- self.hunger, self.position, Food[*].amount, Food[*].position",
    "Mouse.position <- self.position, self.move, Trap[*].duration, Trap[*].position",
    "Food.amount <- self.amount, self.position, Mouse[*].position",
    "Food.position <- self.position",
    "Monster.noise <- self.noise",
    "Monster.position <- self.position",
    "Trap.duration <- self.duration, self.position, Mouse[*].position",
    "Trap.position <- self.position",
)


@lru_cache
def mouse_schema() -> Schema:
    """The classes of Mouse.

    >>> mouse_schema()
    Schema(Mouse(health, hunger, position, move [action]), Food(amount, position), \
Monster(noise, position), Trap(duration, position))
    """
    cell = Integer(0, GRID - 1, shape=(2,))

    class Mouse(ObjectClass):
        """The mouse: it moves, eats, starves and is hurt."""

        health = Real(high=MAX_HEALTH)
        hunger = Real(0.0, MAX_HUNGER)
        position = cell
        move = Categorical(MOVES, action=True)

    class Food(ObjectClass):
        """Food at a place; it grows until it is eaten."""

        amount = Real(0.0, MAX_AMOUNT)
        position = cell

    class Monster(ObjectClass):
        """A monster that wanders and hurts the mouse it meets."""

        noise = Real(shape=(3,))
        position = cell

    class Trap(ObjectClass):
        """A trap that holds the mouse for a while."""

        duration = Integer(0, MAX_DURATION)
        position = cell

    return Schema(Mouse, Food, Monster, Trap)


@dataclass(frozen=True)
class MouseNumbers:
    """The rules in which the paper and the authors' released settings differ.

    >>> VARIANTS["released"].hunger_loss
    2.0
    """

    hunger_loss: float  # a step
    food_spares_loss: bool  # no loss in a step that starts on food
    full_at_limit: bool  # full at hunger >= 75, not only above
    dead_at_zero: bool  # dead at health <= 0, not only below
    monsters_may_stay: bool


VARIANTS = {
    "paper": MouseNumbers(
        hunger_loss=1.0,
        food_spares_loss=True,
        full_at_limit=False,
        dead_at_zero=False,
        monsters_may_stay=False,
    ),
    "released": MouseNumbers(
        hunger_loss=2.0,
        food_spares_loss=False,
        full_at_limit=True,
        dead_at_zero=True,
        monsters_may_stay=True,
    ),
}


class MouseWorld(AbstractWorld):
    """A mouse on an 8 x 8 grid that looks for food among monsters and traps.

    A position is (x, y): east is +x, north is +y. All effects of a step follow from the state
    at its start, so their order does not matter; only the move is chosen in it:

    - The mouse moves one cell, or stays at the edge of the grid. It is held, whatever it
      chooses, while any trap in its cell has duration > 0; every such trap loses 1.
    - Each food in its cell is eaten whole (amount' = 0, even if it held nothing) and adds to
      hunger, up to 100. All other food grows by N(1, sd 0.1), within [0, 50]. Hunger falls by
      1 in steps that start away from food (paper), or by 2 in all steps, before the food is
      added (released); never below 0.
    - Starving (hunger < 25) costs 1 health, being full (> 75 in the paper, >= 75 released)
      gives 1, each monster in the mouse's cell costs 5. Losses and gains are added up first,
      then health is cut at 10. The mouse is dead below 0 (paper) or at 0 (released).
    - A monster goes to one of the 2 to 4 cells beside its own, never diagonally (paper), or
      picks one of the five moves and stays where that would leave the grid (released). Its
      noise, three numbers, walks by N(0, sd 0.1).

    At the start health is 10, hunger U(40, 60), a trap's duration 1 to 4, all positions are
    uniform and independent, and noise is N(0, 1). Food holds U(0, 30) + c x, at most 50, with
    c ~ U(2, 4) drawn once an episode. With `ood`, noise has sd 3 and food follows y, not x.

    Options: `num_food`, `num_monsters`, `num_traps`, each a number or a range (low, high)
    drawn an episode; or `tasks`, a list of such triples of numbers, which replaces all three:
    each episode draws one. "seen" and "unseen" are the paper's 47 and 53 tasks. `variant` is
    "paper" or "released".

    >>> world = MouseWorld(num_food=(3, 6))
    >>> rng = np.random.default_rng(0)
    >>> state = world.reset(1000, rng)
    >>> state, reward, terminated = world.step(state, world.random_actions(state, rng), rng)
    >>> state.values["Food"]["position"].shape
    (1000, 6, 2)
    """

    def __init__(
        self,
        *,
        num_food: Count = 4,
        num_monsters: Count = 4,
        num_traps: Count = 4,
        tasks: Sequence[Sequence[int]] | str | None = None,
        variant: str = "paper",
        ood: bool = False,
        max_episode_steps: int = 300,
    ) -> None:
        self.numbers = check_choice("variant", variant, VARIANTS)
        self.max_episode_steps = check_count("max_episode_steps", max_episode_steps, low=1)
        self.variant = variant
        self.ood = read(bool, ood, "Option `ood`")
        self.schema = mouse_schema()
        self.true_graph = ClassGraph.parse(self.schema, _GRAPH)
        self.task = Task(
            reward=_reward,
            terminated=partial(_is_dead, at_zero=self.numbers.dead_at_zero),
            reads=("Mouse.hunger", "Mouse.health"),
        )
        self._tasks = None if tasks is None else _check_tasks(tasks)
        self._ranges = (
            check_range("num_food", num_food),
            check_range("num_monsters", num_monsters),
            check_range("num_traps", num_traps),
        )
        most = [high for _, high in self._ranges]
        if self._tasks is not None:
            most = self._tasks.max(0).tolist()
        # One empty row rather than none, so that every class has arrays of some size.
        rows = {name: max(1, n) for name, n in zip(NUMBERED, most, strict=True)}
        self.max_objects = {"Mouse": 1, **rows}

    # ---------------------------------------------------------------- starting

    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        """Start episodes: draw the numbers of objects, then everything about them."""
        present = self._draw_present(num_worlds, rng)
        place = {
            name: rng.integers(0, GRID, size=(num_worlds, n, 2))
            for name, n in self.max_objects.items()
        }
        hunger = rng.uniform(40.0, 60.0, size=(num_worlds, 1))
        richness = rng.uniform(2.0, 4.0, size=(num_worlds, 1))
        amount = rng.uniform(0.0, 30.0, size=present["Food"].shape)
        amount += richness * place["Food"][..., 1 if self.ood else 0]
        noise = rng.standard_normal((*present["Monster"].shape, 3)) * (3.0 if self.ood else 1.0)
        duration = rng.integers(1, MAX_DURATION + 1, size=present["Trap"].shape)
        values: dict[str, dict[str, np.ndarray]] = {
            "Mouse": {
                "health": np.full((num_worlds, 1), MAX_HEALTH, dtype=np.float32),
                "hunger": hunger.astype(np.float32),
            },
            "Food": {"amount": np.minimum(amount, MAX_AMOUNT).astype(np.float32)},
            "Monster": {"noise": noise.astype(np.float32)},
            "Trap": {"duration": duration},
        }
        for name, fields in values.items():
            values[name] = zero_absent({**fields, "position": place[name]}, present[name])
        return WorldState(values, present)

    def _draw_present(self, num_worlds: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        if self._tasks is not None:
            drawn = self._tasks[rng.integers(len(self._tasks), size=num_worlds)]
        else:
            columns = [rng.integers(lo, hi + 1, size=num_worlds) for lo, hi in self._ranges]
            drawn = np.stack(columns, axis=1)
        present = {"Mouse": np.ones((num_worlds, 1), dtype=bool)}
        for column, name in enumerate(NUMBERED):
            present[name] = present_rows(drawn[:, column], self.max_objects[name])
        return present

    # ---------------------------------------------------------------- stepping

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> Arrays:
        """Moves drawn uniformly."""
        return {"Mouse": {"move": rng.integers(len(MOVES), size=state.present["Mouse"].shape)}}

    def step(
        self, state: WorldState, actions: Arrays, rng: np.random.Generator
    ) -> tuple[WorldState, np.ndarray, np.ndarray]:
        """One step of every world."""
        mouse, food = state.values["Mouse"], state.values["Food"]
        monster, trap = state.values["Monster"], state.values["Trap"]
        present = state.present
        here = _cells(mouse["position"])
        met = {n: (_cells(state.values[n]["position"]) == here) & present[n] for n in NUMBERED}
        held = (met["Trap"] & (trap["duration"] > 0)).any(1, keepdims=True)
        next_mouse = {
            "health": self._next_health(mouse, met["Monster"]),
            "hunger": self._next_hunger(mouse, food["amount"], met["Food"]),
            "position": _next_place(mouse["position"], actions["Mouse"]["move"], held),
        }
        values = {
            "Mouse": next_mouse,
            "Food": zero_absent(_next_food(food, met["Food"], rng), present["Food"]),
            "Monster": zero_absent(self._next_monster(monster, rng), present["Monster"]),
            "Trap": _next_trap(trap, met["Trap"]),
        }
        reward = _reward_of(mouse, next_mouse)[:, 0]
        dead = _is_dead_at(next_mouse["health"], self.numbers.dead_at_zero)[:, 0]
        return WorldState(values, present), reward, dead

    def _next_health(self, mouse: Fields, met: np.ndarray) -> np.ndarray:
        hunger = mouse["hunger"]
        full = hunger >= FULL if self.numbers.full_at_limit else hunger > FULL
        change = full - 1.0 * (hunger < STARVING) - DAMAGE * met.sum(1, keepdims=True)
        health: np.ndarray = np.minimum(mouse["health"] + change, MAX_HEALTH)
        return health.astype(np.float32)

    def _next_hunger(self, mouse: Fields, amount: np.ndarray, met: np.ndarray) -> np.ndarray:
        eaten = (amount * met).sum(1, keepdims=True)
        loses = ~(met.any(1, keepdims=True) & self.numbers.food_spares_loss)
        left = np.maximum(mouse["hunger"] - self.numbers.hunger_loss * loses, 0.0)
        hunger: np.ndarray = np.minimum(left + eaten, MAX_HUNGER)
        return hunger.astype(np.float32)

    def _next_monster(self, monster: Fields, rng: np.random.Generator) -> dict[str, np.ndarray]:
        noise, place = monster["noise"], monster["position"]
        walk = 0.1 * rng.standard_normal(noise.shape, dtype=np.float32)
        chance = rng.random(place.shape[:2])
        if self.numbers.monsters_may_stay:
            choice = (chance * len(MOVES)).astype(np.int64)
        else:
            choice = _choose_neighbour(place, chance)
        return {"noise": noise + walk, "position": _next_place(place, choice)}


def _next_food(food: Fields, met: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    growth = 1.0 + 0.1 * rng.standard_normal(met.shape, dtype=np.float32)
    grown = np.clip(food["amount"] + growth, 0.0, MAX_AMOUNT)
    return {"amount": np.where(met, np.float32(0), grown), "position": food["position"]}


def _next_trap(trap: Fields, met: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "duration": np.maximum(trap["duration"] - met, 0),
        "position": trap["position"],
    }


def _cells(position: np.ndarray) -> np.ndarray:
    """One number for each cell, so that cells compare at once."""
    cells: np.ndarray = position[..., 0] * GRID + position[..., 1]
    return cells


def _next_place(
    position: np.ndarray, move: np.ndarray, held: np.ndarray | None = None
) -> np.ndarray:
    """Positions after moves; a move off the grid leads nowhere."""
    moved = np.clip(position + STEPS[move], 0, GRID - 1)
    return moved if held is None else np.where(held[..., None], position, moved)


def _choose_neighbour(position: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """One of the moves that lead to another cell, uniformly, from one number in [0, 1) each."""
    cells = _cells(position)
    count = _NUM_WAYS[cells]
    # Rounding may turn a chance just below 1 into `count` itself.
    chosen: np.ndarray = _WAYS[cells, np.minimum((chance * count).astype(np.int64), count - 1)]
    return chosen


def _ways_out() -> tuple[np.ndarray, np.ndarray]:
    """For each cell the moves that lead to another cell (cell, 4), and how many there are."""
    cells = np.stack(np.divmod(np.arange(GRID**2), GRID), axis=-1)
    beside = cells[:, None] + STEPS[:4]
    leads_out = ((beside < 0) | (beside >= GRID)).any(-1)
    # A stable sort puts the moves that stay inside first.
    return leads_out.argsort(axis=1, kind="stable"), 4 - leads_out.sum(1)


_WAYS, _NUM_WAYS = _ways_out()


# What follows works on NumPy arrays and on tensors alike, so that the world and its task
# cannot disagree.


def _reward_of(before: Any, after: Any) -> Any:
    gain = 0.05 * (after["hunger"] - before["hunger"])
    return 0.01 * before["hunger"] + (after["health"] - before["health"]) + gain


def _reward(before: Any, after: Any) -> Any:
    fields = ("hunger", "health")
    first = {name: before["Mouse", name][:, 0] for name in fields}
    return _reward_of(first, {name: after["Mouse", name][:, 0] for name in fields})


def _is_dead_at(health: Any, at_zero: bool) -> Any:
    return health <= 0 if at_zero else health < 0


def _is_dead(after: Any, at_zero: bool) -> Any:
    return _is_dead_at(after["Mouse.health"][:, 0], at_zero)


# ---------------------------------------------------------------- tasks


def _check_tasks(tasks: Sequence[Sequence[int]] | str) -> np.ndarray:
    if isinstance(tasks, str):
        tasks = check_choice("tasks", tasks, {"seen": seen_tasks(), "unseen": unseen_tasks()})
    tasks = read(list[tuple[CountOrZero, CountOrZero, CountOrZero]], tasks, "Option `tasks`")
    if not tasks:
        raise OocdmError(
            "Option `tasks`: expected a list of triples (food, monsters, traps), "
            f"got {list(tasks)!r}."
        )
    return np.array([[check_count("tasks", n) for n in task] for task in tasks])
