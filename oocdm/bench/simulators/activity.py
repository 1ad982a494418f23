"""How often an edge of a simulator is active: by changing single values and stepping on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oocdm.bench.simulators.simulator import Name, Simulator
from oocdm.graph import Edge, Variable
from oocdm.worlds.games import game_of

NUDGE = 1.0  # of a field's spread, at most, by which a number is changed
SEEN = 0.01  # of the usual change of a target: what moves it by less is no activity
STRIDE = 10  # steps from one state that is looked at to the next
EPISODES = 10  # from which spreads and usual changes are

Values = dict[Variable, float]
Sizes = dict[tuple[str, str], float]  # by class and field


def count_activity(simulator: Simulator, states: int, seed: int) -> dict[str, float]:
    """The share of target objects and steps in which a source moved the target, edge by edge.

    In each of some states of the simulator a single value is changed, a number by up to its
    spread, and the step is repeated. A target counts as moved if its next value differs by more
    than 1 % of its usual change. Edges that never moved anything are left out.
    """
    found, total = defaultdict[str, set[Any]](set), defaultdict[str, int](int)
    rng = np.random.default_rng(seed)
    spread, usual = _sizes(simulator, rng, seed)
    for state, (env, action) in enumerate(_states(simulator, states, rng, seed)):
        moment = _Moment(simulator, env, action, spread, rng)
        for c, _ in simulator.objects(env):
            total[c] += 1
        for edge, target in _moved(moment, usual):
            found[str(edge)].add((state, target))
    return {
        edge: len(targets) / total[edge.split(".")[0]] for edge, targets in sorted(found.items())
    }


def _states(
    simulator: Simulator, states: int, rng: np.random.Generator, seed: int
) -> Iterator[tuple[Any, Any]]:
    """An environment at some of its steps, and what is done then."""
    env = simulator.make(None)
    game = game_of("bench logs", env)
    observation = game.reset(seed)
    for _ in range(states):
        for _ in range(STRIDE):
            observation, _, terminated, truncated = game.step(simulator.act(observation, rng))
            if terminated or truncated:
                observation = game.reset(None)
        yield env, simulator.act(observation, rng)
    env.close()


def _moved(moment: _Moment, usual: Sizes) -> Iterator[tuple[Edge, Name]]:
    """Edges along which the change of a single value moved a target, and that target."""
    simulator, after = moment.simulator, moment.after()
    for source in simulator.objects(moment.env):
        for f in simulator.schema.fields(source[0]):
            for (c, number, g), value in moment.after(source, f).items():
                differs = abs(value - after[Variable(c, number, g)]) > SEEN * usual[c, g]
                if differs and not simulator.schema.field(c, g).static:
                    target = (c, number)
                    yield Edge(source[0], f, c, g, target == source), target


@dataclass(frozen=True)
class _Moment:
    """A state of a simulator and what is done then, to be tried with single values changed."""

    simulator: Simulator
    env: Any
    action: Any
    spread: Sizes
    rng: np.random.Generator

    def after(self, source: Name | None = None, field: str = "") -> Values:
        """The next values, if one value is changed first; the environment stays as it is."""
        twin, action = self.simulator.copy(self.env), self.action
        if source is not None and self.simulator.schema.field(source[0], field).action:
            action = self._other_action(source, field)
        elif source is not None:
            each = self.simulator.objects(twin)[source]
            self.simulator.change(each, field, self._other_value(source, field, each))
        game_of("bench logs", twin).step(action)
        return self.simulator.values(twin)

    def _other_action(self, source: Name, field: str) -> Any:
        (c, number), done = source, self.simulator.read_action(self.action)
        other = self._other_code(c, field, done[c][number][field])
        of_object = {**done[c][number], field: other}
        return self.simulator.to_action({**done, c: {**done[c], number: of_object}})

    def _other_value(self, source: Name, field: str, each: Any) -> float:
        now = self.simulator.value(each, field)
        if self.simulator.schema.field(source[0], field).num_codes:
            return self._other_code(source[0], field, now)
        return float(now) + NUDGE * self.spread[source[0], field] * self.rng.uniform(-1, 1)

    def _other_code(self, c: str, field: str, now: Any) -> int:
        codes = self.simulator.schema.field(c, field).num_codes
        return (int(now) + int(self.rng.integers(1, codes))) % codes


def _sizes(simulator: Simulator, rng: np.random.Generator, seed: int) -> tuple[Sizes, Sizes]:
    """The spread of each field in the steps of some episodes, and its usual change in a step."""
    values, changes = defaultdict[Any, list[float]](list), defaultdict[Any, list[float]](list)
    env = simulator.make(None)
    game = game_of("bench logs", env)
    for episode in range(EPISODES):
        observation, is_over = game.reset(seed if episode == 0 else None), False
        before = simulator.values(env)
        while not is_over:
            observation, _, terminated, truncated = game.step(simulator.act(observation, rng))
            now, is_over = simulator.values(env), terminated or truncated
            for variable, value in now.items():
                key = (variable.class_name, variable.field_name)
                values[key].append(value)
                changes[key].append(value - before[variable])
            before = now
    env.close()
    return _spreads(values), _spreads(changes)


def _spreads(found: Mapping[Any, list[float]]) -> Sizes:
    return {key: float(np.std(each)) for key, each in found.items()}
