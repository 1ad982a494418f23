"""Log the steps of many simulated worlds side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.data.log import Arrays
from oocdm.errors import DataError
from oocdm.reading import Count, Seed, checked
from oocdm.schema import Schema
from oocdm.worlds.world import AbstractWorld, WorldState, world_of
from oocdm.worlds.world_checks import action_problems, check_state, check_step

Policy = Callable[[WorldState, np.random.Generator], Arrays]
Progress = Callable[[int, int], None]

# More worlds at once are hardly faster, and their logs no longer fit the processor's cache.
_MAX_WORLDS = 1024


@checked(DataError)
def collect(
    env: object,
    steps: Count,
    seed: Seed = 0,
    policy: Policy | None = None,
    num_worlds: Count | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Log exactly `steps` transitions of whole episodes; only the last one may be cut.

    `env` is one of oocdm's Gymnasium environments or its world. A `policy` gets what is logged
    of the states of many worlds and returns their actions; without one the world's random policy
    acts. Up to `num_worlds` worlds run side by side; the result depends on it and on `seed` only.
    `progress` is called with the number of transitions so far and `steps`.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(action=True)
    >>> class Balls(AbstractWorld):
    ...     schema, max_episode_steps, max_objects = Schema(Ball), 30, {"Ball": 3}
    ...     def reset(self, num_worlds, rng):
    ...         x = rng.normal(size=(num_worlds, 3))
    ...         return WorldState({"Ball": {"x": x}}, {"Ball": np.ones_like(x, bool)})
    ...     def random_actions(self, state, rng):
    ...         return {"Ball": {"push": rng.normal(size=state.present["Ball"].shape)}}
    ...     def step(self, state, actions, rng):
    ...         x = state.values["Ball"]["x"] + actions["Ball"]["push"]
    ...         done = np.zeros(len(x), bool)
    ...         return WorldState({"Ball": {"x": x}}, state.present), x.sum(1), done
    >>> collect(Balls(), steps=100)
    Dataset(4 episodes, 100 transitions; Ball: 3 objects)
    """
    advice = "Log other simulators yourself and use Dataset.from_frames."
    world = world_of("collect", env, DataError, advice)
    rng = np.random.default_rng(seed)
    recorder = _Recorder(world.schema)
    while recorder.num_steps < steps:
        missing = steps - recorder.num_steps
        count = min(_worlds_for(missing, recorder, world), num_worlds or _MAX_WORLDS)
        limit = min(world.max_episode_steps, missing)
        for _ in _run(world, policy, rng, count, limit, recorder):
            if progress is not None:
                progress(min(recorder.num_steps, steps), steps)
    return recorder.to_dataset(steps)


def _worlds_for(missing: int, recorder: _Recorder, world: AbstractWorld) -> int:
    """How many more episodes will give the missing transitions."""
    if recorder.num_steps == recorder.num_episodes * world.max_episode_steps:
        return math.ceil(missing / world.max_episode_steps)
    # Episodes end at random, so start some more than the mean says: a further round for a few
    # transitions would take as many steps as a large one.
    return math.ceil(1.1 * missing * recorder.num_episodes / recorder.num_steps) + 1


def _run(
    world: AbstractWorld,
    policy: Policy | None,
    rng: np.random.Generator,
    num_worlds: int,
    max_steps: int,
    recorder: _Recorder,
) -> Iterator[None]:
    """Log one episode of each of `num_worlds` worlds; yields after every step of all of them."""
    state = world.reset(num_worlds, rng)
    episode = np.arange(num_worlds) + recorder.num_episodes
    recorder.num_episodes += num_worlds
    is_active = np.ones(num_worlds, dtype=bool)
    for step in range(max_steps + 1):
        seen = world.observe(state, rng)
        maker = "observe" if seen is not state else "step" if step else "reset"
        where = f"collect: {_name(world)}.{maker}"
        check_state(where, world.schema, seen, len(episode), DataError)
        recorder.add_states(episode, step, seen, is_active)
        if not is_active.all():
            episode = episode[is_active]
            if len(episode) == 0:
                return
            state, seen = state.select(is_active), seen.select(is_active)
        if policy is None:
            actions = world.random_actions(state, rng)
            _check_actions(f"{_name(world)}.random_actions:", world.schema, actions, seen)
        else:
            actions = policy(seen, rng)
            _check_actions("the policy's", world.schema, actions, seen)
        found = world.step(state, actions, rng)
        check_step(f"collect: {_name(world)}.step", found, len(episode), DataError)
        state, reward, terminated = found
        truncated = ~terminated & (step + 1 == max_steps)
        recorder.add_outcomes(actions, reward, terminated, truncated)
        is_active = ~(terminated | truncated)
        yield


def _name(world: AbstractWorld) -> str:
    return type(world).__name__


def _check_actions(where: str, schema: Schema, actions: Arrays, state: WorldState) -> None:
    for problem in action_problems(f"collect: {where}", schema, actions, state.present):
        raise DataError(problem)


def _action_fields(schema: Schema) -> list[tuple[str, str]]:
    return [
        (c, f) for c, cls in schema.classes.items() for f, kind in cls.fields.items() if kind.action
    ]


class _Recorder:
    """What was seen and done, one list of arrays a column, in the order in which it happened.

    A state column has an entry for every step of every world, an outcome column for those steps
    only that were followed by another, which `is_start` tells.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.num_episodes = 0
        self.num_steps = 0
        self._actions = _action_fields(schema)
        self._columns: dict[tuple[str, ...], list[np.ndarray]] = {}

    def add_states(
        self, episode: np.ndarray, step: int, seen: WorldState, is_start: np.ndarray
    ) -> None:
        self._add("episode", values=episode)
        self._add("step", values=np.full(len(episode), step))
        self._add("is_start", values=is_start)
        for name, cls in self.schema.classes.items():
            self._add(f"present {name}", values=seen.present[name])
            for field_name, field in cls.fields.items():
                if not field.action:
                    values = seen.values[name][field_name]
                    self._add(name, field_name, values=values, dtype=field.dtype)

    def add_outcomes(
        self, actions: Arrays, reward: np.ndarray, terminated: np.ndarray, truncated: np.ndarray
    ) -> None:
        self.num_steps += len(reward)
        self._add("reward", values=reward, dtype=np.float32)
        self._add("terminated", values=terminated)
        self._add("truncated", values=truncated)
        for name, field_name in self._actions:
            dtype = self.schema.field(name, field_name).dtype
            self._add(name, field_name, values=actions[name][field_name], dtype=dtype)

    def _add(self, *key: str, values: np.ndarray, dtype: type[np.generic] | None = None) -> None:
        # A copy, since a world may step its arrays in place.
        self._columns.setdefault(key, []).append(np.array(values, dtype=dtype))

    def to_dataset(self, steps: int) -> Dataset:
        """The first `steps` transitions, by episode and step."""
        all_starts = np.concatenate(self._columns["is_start",])
        # Stable: the entries of one episode are in the order of their steps already.
        order = np.argsort(np.concatenate(self._columns["episode",]), kind="stable")
        order = order[: np.flatnonzero(all_starts[order])[steps - 1] + 2]
        is_start = all_starts[order]
        is_start[-1] = False
        # Where the outcome of an entry stands in the outcome columns.
        outcome = (np.cumsum(all_starts) - 1)[order]

        def states(*key: str) -> np.ndarray:
            return np.concatenate(self._columns[key]).take(order, axis=0)

        def outcomes(*key: str) -> np.ndarray:
            values = np.concatenate(self._columns[key]).take(outcome, axis=0)
            values[~is_start] = 0
            return values

        present = {name: _trim(states(f"present {name}")) for name in self.schema.classes}
        values: dict[str, dict[str, np.ndarray]] = {}
        observed: dict[str, dict[str, np.ndarray]] = {}
        for name, cls in self.schema.classes.items():
            values[name], observed[name] = {}, {}
            for field_name, field in cls.fields.items():
                known = present[name]
                if field.action:
                    known = known & is_start[:, None]
                column = outcomes(name, field_name) if field.action else states(name, field_name)
                column = column[:, : known.shape[1]]
                if not known.all():
                    column[~known] = 0
                values[name][field_name], observed[name][field_name] = column, known
        terminated, truncated = outcomes("terminated"), outcomes("truncated")
        truncated[-2] = not terminated[-2]
        return Dataset(
            self.schema,
            values,
            present,
            observed,
            states("episode"),
            states("step"),
            outcomes("reward"),
            terminated,
            truncated,
        )


def _trim(present: np.ndarray) -> np.ndarray:
    """Without the slots at the end that no object ever uses; one slot is always left."""
    used = np.flatnonzero(present.any(axis=0))
    return present[:, : used[-1] + 1 if len(used) else 1]
