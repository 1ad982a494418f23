"""Whether a simulator of one's own does all that is expected of a world."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from oocdm.data.log import Arrays
from oocdm.data.values import is_allowed, not_allowed
from oocdm.errors import OocdmError
from oocdm.graph import ClassGraph, VariableGraph
from oocdm.graph.variable import variable_names
from oocdm.reading import Seed, checked
from oocdm.schema import Schema
from oocdm.task import Task
from oocdm.worlds.contradictions import contradictions
from oocdm.worlds.convert import to_snapshot
from oocdm.worlds.world import AbstractWorld, WorldState
from oocdm.worlds.world_checks import action_problems, state_problems, step_problems

NUM_WORLDS = 16
NUM_STEPS = 20

FUNCTIONS = {
    "reset": ("num_worlds", "rng"),
    "random_actions": ("state", "rng"),
    "step": ("state", "actions", "rng"),
    "observe": ("state", "rng"),
}


@checked(OocdmError)
def check_world(world: object, seed: Seed = 0) -> list[str]:
    """What is wrong with a world, in plain words; an empty list means that all is well.

    Some worlds are run for some steps. Shapes and values are compared with the schema, every
    function is called twice with equal random numbers, and a stated graph is put to the test:
    values that are no parents are changed, which must not change their targets. One of oocdm's
    environments stands for the world in it.

    >>> import oocdm
    >>> check_world(oocdm.make("block"))
    []
    >>> from oocdm.envs.block import BlockWorld
    >>> class Broken(BlockWorld):
    ...     def step(self, state, actions, rng):
    ...         after, reward, terminated = super().step(state, actions, rng)
    ...         return after, reward + np.random.normal(), terminated
    >>> print(*check_world(Broken()))
    Broken.step: expected the same results from the same arguments and random numbers, got others. \
Draw from `rng` alone, and keep what changes in the state, not in the world.
    """
    inner: Any = getattr(getattr(world, "unwrapped", None), "world", world)
    trial = _Trial(inner, seed)
    if trial.note(_missing(inner)):
        return list(trial.found)
    trial.note(_misdeclared(inner))
    with contextlib.suppress(_Stopped):
        before = trial.run(NUM_WORLDS)
        trial.run(1)
        trial.check_graph(before)
    return list(trial.found)


class _Stopped(Exception):
    """What was found leaves nothing to go on with."""


class _Trial:
    """Runs of a world, and what was found in them, each thing once."""

    def __init__(self, world: Any, seed: int) -> None:
        self.world, self.seed, self.name = world, seed, type(world).__name__
        self.found: dict[str, None] = {}
        self._about: set[object] = set()

    def note(self, problems: Iterable[str]) -> bool:
        """Whether there were any problems."""
        problems = list(problems)
        self.found |= dict.fromkeys(problems)
        return bool(problems)

    def note_once(self, about: object, problem: str) -> None:
        if about not in self._about:
            self._about.add(about)
            self.note([problem])

    def must(self, problems: Iterable[str]) -> None:
        if self.note(problems):
            raise _Stopped

    # ---------------------------------------------------------------- running

    def run(self, num_worlds: int) -> list[WorldState]:
        """States and actions of an episode of some worlds; those that end are not stepped on."""
        all_before = []
        rng = np.random.default_rng(self.seed)
        state = self._ask("reset", num_worlds, rng=rng)
        self._check_arrays("reset", state, num_worlds)
        seen = self._look("reset", state, rng)
        for step in range(min(NUM_STEPS, self.world.max_episode_steps)):
            actions = self._ask("random_actions", state, rng=rng)
            self._check_actions(actions, state)
            then = copy.deepcopy(rng)
            found = self._ask("step", state, actions, rng=rng)
            self.must(step_problems(f"{self.name}.step", found, num_worlds))
            after, _, terminated = found
            self._check_arrays("step", after, num_worlds)
            if step == 0:
                self._check_memory(state, actions, then, found)
            seen, earlier = self._look("step", after, rng), seen
            self._check_static(earlier, seen)
            all_before.append(self._joined(state, actions))
            self._check_task(all_before[-1], self._joined(after, {}))
            state, seen = after.select(~terminated), seen.select(~terminated)
            num_worlds = int((~terminated).sum())
            if num_worlds == 0:
                break
        return all_before

    def _ask(self, function: str, *given: Any, rng: np.random.Generator) -> Any:
        """What a function of the world returns, called twice, with copies of what it is given."""
        where, once, again = f"{self.name}.{function}", _copied(given), _copied(given)
        second = copy.deepcopy(rng)
        try:
            found = _copied(getattr(self.world, function)(*once, rng))
            repeated = getattr(self.world, function)(*again, second)
        except Exception as error:
            self.must([f"{where}: expected it to run, got {type(error).__name__}: {error}"])
        if not _is_same(found, repeated):
            self.note_once(
                (function, "same"),
                f"{where}: expected the same results from the same arguments and random numbers, "
                "got others. Draw from `rng` alone, and keep what changes in the state, not in "
                "the world.",
            )
        # A step may change the state that it is given: nobody uses it afterwards.
        kept = slice(1, None) if function == "step" else slice(None)
        if not _is_same(given[kept], once[kept]):
            self.note_once(
                (function, "in place"),
                f"{where}: expected {'actions' if function == 'step' else 'a state'} that it only "
                "reads, got changes in place. Copy arrays before changing them.",
            )
        return found

    def _look(self, maker: str, state: WorldState, rng: np.random.Generator) -> WorldState:
        """What is logged of a state, checked."""
        if not hasattr(self.world, "observe"):
            seen = state
        else:
            seen = self._ask("observe", state, rng=rng)
            size = len(next(iter(state.present.values())))
            self._check_arrays("observe", seen, size)
            maker = maker if _is_same(seen, state) else "observe"
        self._check_values(f"{self.name}.{maker}", seen.values, seen.present)
        for c, f in self._fields(is_action=False):
            filled = (seen.values[c][f] != 0) & _wide(~seen.present[c], seen.values[c][f])
            if filled.any():
                self.note_once(
                    (c, f, "absent"),
                    f"{self.name}.{maker}: values[{c!r}][{f!r}]: expected 0 in rows that are no "
                    f"objects, got {seen.values[c][f][filled][0]}. Set them to 0 where "
                    f"present[{c!r}] is false.",
                )
        return seen

    def _joined(self, state: WorldState, actions: Arrays) -> WorldState:
        """States and actions as one, without what the schema does not know."""
        values = {}
        for c in self.world.schema.classes:
            given = {**state.values.get(c, {}), **actions.get(c, {})}
            values[c] = {f: given[f] for f in self.world.schema.fields(c) if f in given}
        return WorldState(values, state.present)

    def _fields(self, is_action: bool) -> list[tuple[str, str]]:
        schema = self.world.schema
        return [
            (c, f)
            for c in schema.classes
            for f, field in schema.fields(c).items()
            if field.action is is_action
        ]

    # ---------------------------------------------------------------- checks

    def _check_arrays(self, maker: str, state: WorldState, size: int) -> None:
        world, where = self.world, f"{self.name}.{maker}"
        self.must(state_problems(where, world.schema, state, size))
        wrong = []
        for c in world.schema.classes:
            present = state.present[c]
            expected = (size, world.max_objects[c])
            if present.dtype != bool or present.shape != expected:
                wrong.append(
                    f"{where}: present[{c!r}]: expected booleans of shape {expected}, as "
                    f"max_objects says, got dtype {present.dtype} and shape {present.shape}. "
                    "Every object that there may be has a row."
                )
        for c, f in self._fields(is_action=False):
            if (kind := state.values[c][f].dtype).kind not in "biuf":
                wrong.append(
                    f"{where}: values[{c!r}][{f!r}]: expected numbers, got dtype {kind}. Give "
                    "categories by their numbers."
                )
        self.must(wrong)

    def _check_actions(self, actions: Arrays, state: WorldState) -> None:
        where = f"{self.name}.random_actions"
        if not isinstance(actions, Mapping):
            self.must(
                [f"{where}: expected {{class: {{field: array}}}}, got {type(actions).__name__}."]
            )
        self.must(action_problems(f"{where}:", self.world.schema, actions, state.present))
        self._check_values(where, actions, state.present)

    def _check_values(self, where: str, values: Arrays, present: Mapping[str, np.ndarray]) -> None:
        for c, fields in values.items():
            for f, numbers in fields.items():
                if c not in self.world.schema.classes or f not in self.world.schema.fields(c):
                    self.note_once(
                        (c, f), f"{where}: expected fields of the schema, got `{c}.{f}`. Remove it."
                    )
                    continue
                field = self.world.schema.field(c, f)
                wrong = ~is_allowed(field, numbers) & _wide(present[c], numbers)
                if wrong.any():
                    place = f"{where}: `{c}.{f}`"
                    self.note_once((c, f), not_allowed(place, field, numbers[wrong][0].item()))

    def _check_static(self, before: WorldState, after: WorldState) -> None:
        for c, f in self._fields(is_action=False):
            if not self.world.schema.field(c, f).static:
                continue
            one, other = before.values[c][f], after.values[c][f]
            differs = (one != other) & _wide(before.present[c] & after.present[c], one)
            if differs.any():
                self.note_once(
                    (c, f, "static"),
                    f"{self.name}.step: static field `{c}.{f}`: expected one value within an "
                    f"episode, got {one[differs][0]} and then {other[differs][0]}. An object must "
                    "stay in its row; if the field may change, declare it without static=True.",
                )

    def _check_memory(
        self, state: WorldState, actions: Arrays, rng: np.random.Generator, found: Any
    ) -> None:
        """Whether a step is the same after other episodes have been started."""
        self._ask("reset", NUM_WORLDS, rng=np.random.default_rng(self.seed + 1))
        if not _is_same(found, self._ask("step", state, actions, rng=rng)):
            self.note_once(
                ("step", "same"),
                f"{self.name}.step: expected a step that depends on its arguments alone, got "
                "another one after a `reset`. Keep what an episode draws in fields of the state, "
                "for instance static ones, not in the world.",
            )

    def _check_task(self, state: WorldState, later: WorldState) -> None:
        task, where = getattr(self.world, "task", None), f"{self.name}.task"
        if not isinstance(task, Task):
            return
        try:
            before, after = (to_snapshot(self.world.schema, each) for each in (state, later))
        except OocdmError:
            return  # values that are not allowed: they are told already
        try:
            found = {
                "reward": task.watched_reward(before, after),
                "terminated": task.watched_end(after),
            }
        except Exception as error:
            said = "" if isinstance(error, OocdmError) else f"{type(error).__name__}: "
            self.note_once(where, f"{where}: expected it to run, got {said}{error}")
            return
        for name, values in found.items():
            shape, expected = tuple(np.shape(values)), (before.batch_size,)
            if shape != expected:
                self.note_once(
                    where,
                    f"{where}: {name}: expected one value a world, shape {expected}, got shape "
                    f"{shape}. Sum over objects, as x.sum(1), or choose one, as x[:, 0].",
                )

    def check_graph(self, before: list[WorldState]) -> None:
        """Whether the world does what its graph rules out."""
        graph = getattr(self.world, "true_graph", None)
        is_known = isinstance(graph, ClassGraph) and graph.schema == self.world.schema
        if graph is None or not is_known or ("step", "same") in self._about:
            return
        pool = _pooled(before)
        try:
            self.note(contradictions(self.world, graph, pool, self.seed))
        except Exception as error:
            self.note(
                [
                    f"{self.name}.true_graph: cannot be checked: expected `step` to take states in "
                    "which one field of one object has another value that occurs, got "
                    f"{type(error).__name__}: {error}"
                ]
            )


# ---------------------------------------------------------------- what a world declares


def _missing(world: Any) -> Iterator[str]:
    """What must be there before anything can be run."""
    name = type(world).__name__
    schema = getattr(world, "schema", None)
    if not isinstance(schema, Schema):
        yield f"{name}.schema: expected a Schema, got {type(schema).__name__}."
    for function, arguments in FUNCTIONS.items():
        found = getattr(world, function, None)
        if function == "observe" and found is None:
            continue
        expected = f"{name}.{function}: expected a function of ({', '.join(arguments)}), got"
        if not callable(found):
            yield f"{expected} {type(found).__name__}. Subclass oocdm.AbstractWorld and write it."
        elif not _takes(found, len(arguments)):
            yield f"{expected} one of {inspect.signature(found)}."
    steps = getattr(world, "max_episode_steps", None)
    if not isinstance(steps, int) or steps < 1:
        yield f"{name}.max_episode_steps: expected a whole number from 1 on, got {steps!r}."
    rows = getattr(world, "max_objects", None)
    for c in schema.classes if isinstance(schema, Schema) else ():
        most = rows.get(c) if isinstance(rows, Mapping) else None
        if not isinstance(most, int | np.integer) or most < 1:
            yield (
                f"{name}.max_objects[{c!r}]: expected the number of rows of the class, 1 or more, "
                f"got {most!r}."
            )


def _takes(function: Any, num: int) -> bool:
    try:
        inspect.signature(function).bind(*range(num))
    except TypeError:
        return False
    return True


def _misdeclared(world: Any) -> Iterator[str]:
    """What is wrong with declarations without which the world can be run all the same."""
    name, schema = type(world).__name__, world.schema
    if not isinstance(world, AbstractWorld):
        yield (
            f"{name}: expected a subclass of oocdm.AbstractWorld, got none; `collect` takes no "
            f"other. Write class {name}(oocdm.AbstractWorld)."
        )
    graph = getattr(world, "true_graph", None)
    if graph is not None and not isinstance(graph, ClassGraph):
        yield f"{name}.true_graph: expected a ClassGraph or None, got {type(graph).__name__}."
    elif graph is not None and graph.schema != schema:
        yield (
            f"{name}.true_graph: expected a graph over the world's schema, got another, which "
            f"differs in {schema.difference(graph.schema)}."
        )
    yield from _misstated(world)
    task = getattr(world, "task", None)
    if isinstance(task, Task):
        try:
            task.check(schema)
        except OocdmError as error:
            yield f"{name}.task: expected `reads` to name fields of the schema. {error}"
    elif task is not None:
        yield f"{name}.task: expected a Task or None, got {type(task).__name__}."


def _misstated(world: Any) -> Iterator[str]:
    """What is wrong with a graph of variables, whatever its edges are."""
    graph = getattr(world, "true_variable_graph", None)
    where = f"{type(world).__name__}.true_variable_graph"
    if graph is None:
        return
    if not isinstance(graph, VariableGraph):
        yield f"{where}: expected a VariableGraph or None, got {type(graph).__name__}."
        return
    inputs, outputs = variable_names(world.schema, world.max_objects)
    if set(graph.inputs) != set(inputs) or set(graph.outputs) != set(outputs):
        yield (
            f"{where}: expected all variables of as many objects as max_objects says, "
            f"{len(inputs)} inputs and {len(outputs)} outputs, got {len(graph.inputs)} and "
            f"{len(graph.outputs)}, or other ones."
        )


# ---------------------------------------------------------------- arrays of arrays


def _copied(given: Any) -> Any:
    if isinstance(given, WorldState):
        return WorldState(_copied(given.values), _copied(given.present), _copied(given.memory))
    if isinstance(given, Mapping):
        return {name: _copied(value) for name, value in given.items()}
    if isinstance(given, tuple):
        return tuple(_copied(value) for value in given)
    return np.array(given) if isinstance(given, np.ndarray | list) else given


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, WorldState) and isinstance(other, WorldState):
        parts = [(each.values, each.present, each.memory) for each in (one, other)]
        return _is_same(*parts)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_is_same(one[k], other[k]) for k in one)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    is_real = np.asarray(one).dtype.kind == "f" == np.asarray(other).dtype.kind
    return bool(np.array_equal(one, other, equal_nan=is_real))


def _wide(mask: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A mask of objects as one of their numbers."""
    return np.broadcast_to(mask.reshape(mask.shape + (1,) * (values.ndim - 2)), values.shape)


def _pooled(states: list[WorldState]) -> WorldState:
    """The worlds of several states as one."""
    first = states[0]
    return WorldState(
        {
            c: {f: np.concatenate([s.values[c][f] for s in states]) for f in fields}
            for c, fields in first.values.items()
        },
        {c: np.concatenate([s.present[c] for s in states]) for c in first.present},
    )
