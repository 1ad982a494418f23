"""Weak: booleans and categories with causes that shift chances, by a little or by much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import numpy as np

from oocdm.envs.generated.blueprint import Blueprint
from oocdm.envs.generated.chances import ChanceMechanism, Influence
from oocdm.envs.generated.family import AbstractFamily, one_of, signs, uniform
from oocdm.envs.generated.pilot import Pilot, run_pilot
from oocdm.envs.generated.removal import Removal
from oocdm.envs.generated.settle import misleads
from oocdm.envs.generated.source import Source
from oocdm.envs.generated.start import Start
from oocdm.envs.generated.worth import QUICK, removal_of, worth_without
from oocdm.schema import Boolean, Categorical, Field

WORTHS = (0.003, 1.0)  # of an edge, in nats
STRENGTHS = (0.02, 8.0)  # of an influence, in log-odds
ROUNDS, BISECTIONS = 2, 7
EFFORT = replace(QUICK, num_draws=6, max_values=60_000, max_moments=400)


def add_chance(family: AbstractFamily, c: str, field: Field, odds: tuple[float, ...]) -> Source:
    """A boolean or a category with up to three causes; part of the time it also persists."""

    def draw(own: Source, rng: np.random.Generator) -> ChanceMechanism:
        chosen = family.pool(own, rng)[: rng.integers(1, 4)]
        influences = [_influence(family, own, s, rng) for s in chosen]
        if rng.random() < 0.75:
            influences.append(Influence(uniform(rng, 0.5, 3.0), own))
        base = (np.log(odds) + rng.normal(0, 0.3, len(odds))).tolist()
        return ChanceMechanism(own, tuple(base), tuple(influences))

    return family.add(c, field, draw, Start(odds=odds))


def _influence(
    family: AbstractFamily, own: Source, source: Source, rng: np.random.Generator
) -> Influence:
    """Contagion, imitation, or a shift by a number or a category."""
    codes = family.roles[own[:2]].field.num_codes
    there = family.roles[source[:2]].field.num_codes
    strength, code = uniform(rng, 0.5, 2.0), int(rng.integers(codes))
    if not there:
        unit = family.roles[source[:2]].unit
        return Influence(signs(rng) * strength / unit, source, code)
    if there == codes and not source.is_local and rng.random() < 0.5:
        return Influence(strength, source)
    when, is_number = int(rng.integers(there)), bool(rng.random() < 0.5)
    if there == codes == 2:
        return Influence(strength, source, 1, 1, is_number)  # contagion
    return Influence(signs(rng) * strength, source, code, when, is_number)


def add_chance_decoy(family: AbstractFamily, of: Source) -> Source:
    """A boolean or category that mostly takes on what another one is, and causes nothing."""
    role = family.roles[of[:2]]

    def draw(own: Source, rng: np.random.Generator) -> ChanceMechanism:
        copied, kept = Influence(uniform(rng, 2.0, 4.0), of), Influence(uniform(rng, 0.5, 1.5), own)
        base = (0.0,) * role.field.num_codes
        return ChanceMechanism(own, base, (copied, kept), of.field_name)

    decoy = family.add(of.class_name, role.field, draw, role.start)
    family.roles[decoy[:2]] = replace(family.roles[decoy[:2]], is_decoy=True)
    return decoy


class Weak(AbstractFamily):
    """Two or three classes of booleans, categories, and numbers that drift.

    >>> print(*Weak([0], varying=False, decoys=True).max_objects)
    A B
    """

    def _lay_out(self) -> None:
        rng = self.rng
        for number in range(2 + (rng.random() < 0.3)):
            c = self.add_class(2, 8)
            chances = [self._add_chance(c)]
            if rng.random() < 0.7:
                self.add_drift(c)
            if rng.random() < 0.6:
                chances.append(self._add_chance(c))
            if number == 0 or rng.random() < 0.5:
                self.add_action(c) if rng.random() < 0.6 else self.add(c, Boolean(action=True))
            if self.decoys and (number == 0 or rng.random() < 0.4):
                add_chance_decoy(self, one_of(rng, chances))

    def _add_chance(self, c: str) -> Source:
        codes = one_of(self.rng, (2, 2, 3, 4))
        odds = self.rng.dirichlet(np.full(codes, 4.0))
        field = Boolean() if codes == 2 else Categorical(codes)
        return add_chance(self, c, field, tuple(odds.tolist()))


def draw_weak(seed: Sequence[int], varying: bool, decoys: bool) -> Blueprint:
    """A world of this family, with influences of the strengths that make edges worth what is drawn.

    Worths are drawn from 0.003 to 1 nats, all orders of magnitude alike, or up to what the
    influence can be worth at most. Strengths are found by bisection, all of them some times over,
    since chances follow from each other.
    """
    for attempt in count():
        blueprint = Weak([*seed, attempt], varying, decoys).blueprint()
        if not decoys or misleads(blueprint):
            break
    for number in range(ROUNDS):
        pilot = run_pilot(blueprint, 80, 30, [*seed, number])
        mechanisms = [
            _tuned(blueprint, m, pilot, [*seed, i]) if isinstance(m, ChanceMechanism) else m
            for i, m in enumerate(blueprint.mechanisms)
        ]
        blueprint = replace(blueprint, mechanisms=mechanisms)
    return blueprint


def _tuned(
    blueprint: Blueprint, mechanism: ChanceMechanism, pilot: Pilot, seed: list[int]
) -> ChanceMechanism:
    """With strengths that make each edge worth what is drawn from the seed."""
    if mechanism.decoy_of is not None:
        return mechanism
    for i, source in enumerate(mechanism.sources):
        rng = np.random.default_rng([*seed, i])
        share = uniform(rng, 0.0, 1.0)
        removal = removal_of(blueprint, mechanism.own.class_name, source, pilot, rng, EFFORT)
        mechanism = _solved(blueprint, mechanism, removal, share)
    return mechanism


def _solved(
    blueprint: Blueprint, mechanism: ChanceMechanism, removal: Removal, share: float
) -> ChanceMechanism:
    """With the strength of the removed source that makes it worth a drawn share of the range."""

    def worth(strength: float) -> float:
        changed = mechanism.with_strength(removal.source, strength)
        return worth_without(blueprint, changed, removal, 0.0, np.random.default_rng(0)).nats

    low, high = np.log(STRENGTHS)
    most = min(WORTHS[1], 0.95 * worth(STRENGTHS[1]))
    if most <= WORTHS[0]:
        return mechanism.with_strength(removal.source, STRENGTHS[1])
    wanted = float(np.exp(np.log(WORTHS[0]) + share * np.log(most / WORTHS[0])))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if worth(float(np.exp(middle))) < wanted else (low, middle)
    return mechanism.with_strength(removal.source, float(np.exp((low + high) / 2)))
