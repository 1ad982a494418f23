"""Drawing a world of a family until it is fair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import numpy as np

from oocdm.envs.generated.blueprint import Blueprint
from oocdm.envs.generated.family import AbstractFamily
from oocdm.envs.generated.mechanisms import AbstractMechanism
from oocdm.envs.generated.pilot import Pilot, is_jittered, run_pilot
from oocdm.envs.generated.source import Source
from oocdm.envs.generated.truth import BLUR
from oocdm.envs.generated.worth import QUICK, edge_worth

MAX_ROUNDS = 6
MIN_WORTH = 0.02  # of an edge, in nats, as a quick simulation tells it
MIN_LIKENESS = 0.5  # correlation of a decoy with the field that it resembles
LARGEST = 50.0  # a number, in long episodes that start out of distribution

Make = Callable[[Sequence[int], bool, bool], AbstractFamily]


def settle(make: Make, seed: Sequence[int], varying: bool, decoys: bool) -> Blueprint:
    """Draw worlds until one is fair: bounded, with edges that matter and decoys that mislead.

    Mechanisms with an edge that is worth less than 0.02 nats are drawn anew, some times; then a
    world is taken if no more than one mechanism, or one in ten, is still like that.
    """
    drawn = (_fair(make([*seed, attempt], varying, decoys)) for attempt in count())
    return next(blueprint for blueprint in drawn if blueprint is not None)


def _fair(family: AbstractFamily) -> Blueprint | None:
    """Have mechanisms redrawn until they are fair; None if they will not be."""
    judged: dict[Source, tuple[str, bool]] = {}
    unfair: list[Source] = []
    for _ in range(MAX_ROUNDS):
        blueprint = family.blueprint()
        if family.decoys and not misleads(blueprint):
            family.redraw(family.targets)
            continue
        if run_pilot(blueprint, 40, 90, family.seed, ood=True).largest() > LARGEST:
            return None
        pilot = run_pilot(blueprint, 50, 30, family.seed)
        for m in blueprint.mechanisms:
            if judged.get(m.own, ("", False))[0] != str(m):
                judged[m.own] = str(m), is_fair(blueprint, m, pilot, family.seed)
        unfair = [own for own, (_, fair) in judged.items() if not fair]
        unfair += [s for s in _unlike(blueprint, pilot) if s not in unfair]
        if not unfair:
            return blueprint
        family.redraw(unfair)
    return blueprint if judged and len(unfair) <= max(1, len(judged) / 10) else None


def is_fair(blueprint: Blueprint, m: AbstractMechanism, pilot: Pilot, seed: Sequence[int]) -> bool:
    """Whether every edge into a field is worth something."""
    name = m.own[:2]
    is_number = is_jittered(blueprint.schema.field(*name))
    blur = BLUR * pilot.usual_change(*name) if is_number else 0.0
    return all(
        edge_worth(blueprint, m, s, pilot, blur, np.random.default_rng([*seed, 1]), QUICK).nats
        >= MIN_WORTH
        for s in m.sources
    )


def misleads(blueprint: Blueprint) -> bool:
    """Whether some decoy resembles a field that causes another one."""
    decoys = [m for m in blueprint.mechanisms if getattr(m, "decoy_of", None)]
    names = [m.own[:2] for m in decoys]
    causes = {
        s[:2]
        for m in blueprint.mechanisms
        for s in m.sources
        if s != m.own and m.own[:2] not in names
    }
    liked = [(m.own.class_name, getattr(m, "decoy_of", "")) for m in decoys]
    liked += [(c, start.near or "") for (c, _), start in blueprint.starts.items()]
    return any(name in causes for name in liked)


def _unlike(blueprint: Blueprint, pilot: Pilot) -> list[Source]:
    """Decoys that do not resemble what they should, and what that is."""
    found = []
    for m in blueprint.mechanisms:
        like = getattr(m, "decoy_of", None)
        if like is not None:
            c = m.own.class_name
            fields, present = pilot.before.values[c], pilot.before.present[c]
            pair = [fields[f][present].ravel() for f in (m.own.field_name, like)]
            if not np.corrcoef(pair)[0, 1] >= MIN_LIKENESS:
                found += [m.own, Source(c, like, True)]
    return [s for s in found if not blueprint.schema.field(*s[:2]).static]
