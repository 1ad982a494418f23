"""Log the steps of many simulated worlds side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from oocdm.data.cells import Cells
from oocdm.data.dataset import Dataset
from oocdm.data.log import Arrays, Log
from oocdm.data.places import Places
from oocdm.errors import DataError
from oocdm.reading import Count, Seed, checked
from oocdm.schema import Schema
from oocdm.worlds.actor import AbstractActor, Policy, PolicyActor, RandomActor, check_actions
from oocdm.worlds.world import AbstractWorld, WorldState, world_of
from oocdm.worlds.world_checks import check_state, check_step

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
    actor = RandomActor(world) if policy is None else PolicyActor(policy)
    return collect_with(world, actor, steps, seed, num_worlds, progress)


def collect_with(
    world: AbstractWorld,
    actor: AbstractActor,
    steps: int,
    seed: int,
    num_worlds: int | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """What `collect` does, with an actor that knows the worlds in which it acts.

    >>> import oocdm
    >>> world = oocdm.make("block", num_blocks=2).world
    >>> len(collect_with(world, RandomActor(world), steps=30, seed=0))
    30
    """
    rng = np.random.default_rng(seed)
    recorder = _Recorder(world.schema)
    while recorder.num_steps < steps:
        missing = steps - recorder.num_steps
        count = min(_worlds_for(missing, recorder, world), num_worlds or _MAX_WORLDS)
        limit = min(world.max_episode_steps, missing)
        for _ in _run(world, actor, rng, count, limit, recorder):
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
    actor: AbstractActor,
    rng: np.random.Generator,
    num_worlds: int,
    max_steps: int,
    recorder: _Recorder,
) -> Iterator[None]:
    """Log one episode of each of `num_worlds` worlds; yields after every step of all of them."""
    state = world.reset(num_worlds, rng)
    first = recorder.num_episodes
    episode = np.arange(num_worlds) + first
    recorder.num_episodes += num_worlds
    actor.reset(num_worlds)
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
        actions = actor.act(state, seen, episode - first, rng)
        check_actions(f"collect: {actor.title}", world.schema, actions, seen.present)
        found = world.step(state, actions, rng)
        check_step(f"collect: {_name(world)}.step", found, len(episode), DataError)
        state, reward, terminated = found
        truncated = ~terminated & (step + 1 == max_steps)
        recorder.add_outcomes(actions, reward, terminated, truncated)
        is_active = ~(terminated | truncated)
        yield


def _name(world: AbstractWorld) -> str:
    return type(world).__name__


def _action_fields(schema: Schema) -> list[tuple[str, str]]:
    return [
        (c, f) for c, cls in schema.classes.items() for f, kind in cls.fields.items() if kind.action
    ]


class _Recorder:
    """What was seen and done, one list of arrays a column, in the order in which it happened.

    A state column has an entry for every step of every world, or for every object that is there;
    an outcome column for those steps only that were followed by another, which `is_start` tells.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.num_episodes = 0
        self.num_steps = 0
        self._actions = _action_fields(schema)
        self._acting: dict[str, Places] = {}  # the objects whose actions come next
        self._columns: dict[tuple[str, ...], list[np.ndarray]] = {}

    def add_states(
        self, episode: np.ndarray, step: int, seen: WorldState, is_start: np.ndarray
    ) -> None:
        self._add("episode", values=episode)
        self._add("step", values=np.full(len(episode), step))
        self._add("is_start", values=is_start)
        for name, cls in self.schema.classes.items():
            places = Places.of_mask(seen.present[name])
            self._acting[name] = (
                places if is_start.all() else places.take(np.flatnonzero(is_start))[0]
            )
            self._add(f"counts {name}", values=places.counts)
            self._add(f"place {name}", values=places.place)
            for field_name, field in cls.fields.items():
                if not field.action:
                    values = places.unpad(seen.values[name][field_name])
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
            values = self._acting[name].unpad(actions[name][field_name])
            self._add(name, field_name, values=values, dtype=dtype)

    def _add(self, *key: str, values: np.ndarray, dtype: type[np.generic] | None = None) -> None:
        # A copy, since a world may step its arrays in place.
        self._columns.setdefault(key, []).append(np.array(values, dtype=dtype))

    def _joined(self, *key: str) -> np.ndarray:
        return np.concatenate(self._columns[key])

    def to_dataset(self, steps: int) -> Dataset:
        """The first `steps` transitions, by episode and step."""
        all_starts = self._joined("is_start")
        # Stable: the entries of one episode are in the order of their steps already.
        order = np.argsort(self._joined("episode"), kind="stable")
        order = order[: np.flatnonzero(all_starts[order])[steps - 1] + 2]
        is_start = all_starts[order]
        is_start[-1] = False
        # Where the outcome of an entry stands in the outcome columns.
        outcome = (np.cumsum(all_starts) - 1)[order]

        def outcomes(key: str) -> np.ndarray:
            values = self._joined(key).take(outcome, axis=0)
            values[~is_start] = 0
            return values

        terminated, truncated = outcomes("terminated"), outcomes("truncated")
        truncated[-2] = not terminated[-2]
        log = Log.of_cells(
            self.schema,
            {name: self._cells(name, order, is_start) for name in self.schema.classes},
            episode=self._joined("episode")[order],
            step=self._joined("step")[order],
            reward=outcomes("reward"),
            terminated=terminated,
            truncated=truncated,
        )
        return Dataset.of_log(log)

    def _cells(self, name: str, order: np.ndarray, is_start: np.ndarray) -> Cells:
        """The objects of a class in some entries, which have actions if `is_start` says so."""
        counts, place = self._joined(f"counts {name}"), self._joined(f"place {name}")
        taken, pick = Places(counts, place, _width(place)).take(order)
        taken = replace(taken, width=_width(taken.place))  # without places that none needs
        had_action = np.repeat(self._joined("is_start"), counts)
        has_action = np.repeat(is_start, taken.counts)
        values, observed = {}, {}
        for field_name, field in self.schema.fields(name).items():
            column = self._joined(name, field_name)
            if field.action:
                acted = np.zeros((len(place), *field.shape), dtype=field.dtype)
                acted[had_action] = column
                column = acted
            values[field_name] = pick(column)
            observed[field_name] = has_action if field.action else np.ones(len(has_action), bool)
            if field.action:
                values[field_name][~has_action] = 0
        return Cells(taken, values, observed)


def _width(place: np.ndarray) -> int:
    """How many places there must be; one is always left."""
    return int(place.max(initial=0)) + 1
