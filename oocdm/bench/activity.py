"""How often an edge is active in highway-env: by changing single values and stepping on."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from oocdm.bench.highway import GETTERS, SCHEMA, change, drive, make_highway, vehicles
from oocdm.graph import Edge

NUDGE = 1.0  # of a field's spread, at most, by which a number is changed
SEEN = 0.01  # of the usual change of a target: what moves it by less is no activity
STRIDE = 10  # steps from one state that is looked at to the next

Values = dict[tuple[tuple[str, int], str], float]


def count_activity(states: int, seed: int) -> dict[str, float]:
    """The share of target objects and steps in which a source moved the target, edge by edge.

    In each of some states of highway-env a single value is changed, a number by up to its spread,
    and the step is repeated. A target counts as moved if its next value differs by more than 1 %
    of its usual change. Edges that never moved anything are left out.
    """
    found, total = defaultdict[str, set[Any]](set), defaultdict[str, int](int)
    env, rng = make_highway(), np.random.default_rng(seed)
    spread, usual = _sizes(env, rng)
    env.reset(seed=seed)
    for state in range(states):
        for _ in range(STRIDE):
            *_, terminated, truncated, _ = env.step(drive(None, rng))
            if terminated or truncated:
                env.reset()
        action = drive(None, rng)
        after = _step(env, action)
        for (c, _), _ in vehicles(env).items():
            total[c] += 1
        for edge, target in _moved(env, action, after, spread, usual, rng):
            found[str(edge)].add((state, target))
    return {
        edge: len(targets) / total[edge.split(".")[0]] for edge, targets in sorted(found.items())
    }


def _moved(
    env: Any,
    action: int,
    after: Values,
    spread: Mapping[tuple[str, str], float],
    usual: Mapping[tuple[str, str], float],
    rng: np.random.Generator,
) -> Any:
    """Edges along which the change of a single value moved a target, and that target."""
    for source in vehicles(env):
        for f, kind in SCHEMA.fields(source[0]).items():
            if kind.action:
                changed = _step(env, (action + int(rng.integers(1, kind.num_codes))) % 5)
            else:
                changed = _step(env, action, source, f, _other(env, source, f, spread, rng))
            for (target, g), value in changed.items():
                c, is_self = target[0], target == source
                differs = abs(value - after[target, g]) > SEEN * usual[c, g]
                if differs and not SCHEMA.field(c, g).static:
                    yield Edge(source[0], f, c, g, is_self), target


def _other(
    env: Any,
    source: tuple[str, int],
    f: str,
    spread: Mapping[tuple[str, str], float],
    rng: np.random.Generator,
) -> float:
    now, codes = GETTERS[f](vehicles(env)[source]), SCHEMA.field(source[0], f).num_codes
    if codes:
        return (int(now) + int(rng.integers(1, codes))) % codes
    return float(now) + NUDGE * spread[source[0], f] * rng.uniform(-1, 1)


def _step(
    env: Any, action: int, source: tuple[str, int] | None = None, f: str = "", value: float = 0.0
) -> Values:
    """The next values, if first one value is changed; the environment stays as it is."""
    twin = copy.deepcopy(env)
    if source is not None:
        change(vehicles(twin)[source], f, value)
    twin.step(action)
    return _values(twin)


def _values(env: Any) -> Values:
    return {
        (name, f): float(GETTERS[f](vehicle))
        for name, vehicle in vehicles(env).items()
        for f, kind in SCHEMA.fields(name[0]).items()
        if not kind.action
    }


def _sizes(env: Any, rng: np.random.Generator) -> tuple[dict[Any, float], dict[Any, float]]:
    """The spread of each field in an episode's steps, and its usual change in a step."""
    values, changes = defaultdict[Any, list[float]](list), defaultdict[Any, list[float]](list)
    for _ in range(10):
        env.reset()
        before, is_over = _values(env), False
        while not is_over:
            *_, terminated, truncated, _ = env.step(drive(None, rng))
            now, is_over = _values(env), terminated or truncated
            for (name, f), value in now.items():
                values[name[0], f].append(value)
                changes[name[0], f].append(value - before[name, f])
            before = now
    return (
        {key: float(np.std(found)) for key, found in values.items()},
        {key: float(np.std(found)) for key, found in changes.items()},
    )
