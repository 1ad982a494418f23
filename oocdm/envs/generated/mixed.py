"""Mixed: sums, gates, largest values, counts and categories; the first family of worlds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import numpy as np

from oocdm.envs.generated.blueprint import Blueprint
from oocdm.envs.generated.design import NOISE, Design
from oocdm.envs.generated.mechanisms import CategoryMechanism, RealMechanism
from oocdm.envs.generated.source import Inputs, Source, join, read
from oocdm.envs.generated.start import Start
from oocdm.worlds.world import WorldState

PILOT_WORLDS, PILOT_STEPS, MAX_ROUNDS = 100, 20, 20
MIN_EFFECT = 0.15  # of a parent on its target, in spreads of the target
MIN_SPREAD = 0.1  # of a field
MIN_UNIQUE = 0.01  # share of a parent's variance that is no linear function of other fields
MIN_LIKENESS = 0.8  # correlation of a decoy with the parent that it resembles


def draw_mixed(
    world_seed: int, varying: bool, decoys: bool, max_classes: int, max_fields: int
) -> Blueprint:
    """A world of two to `max_classes` classes with two to `max_fields` fields, drawn until fair.

    A real field is a sum of some of: part of itself; other fields of its object, some only
    where a gate is open; the largest value of a field among other objects; the number of other
    objects above a threshold or in a category. Or it only keeps itself, or drifts. A field with
    three categories goes to the next one, for sure or with a chance, if a condition on a parent
    holds. About half of the fields have noise, some 5 to 10 % of their spread. A decoy repeats
    the mechanism of a field that causes others, with noise of its own, but causes nothing.

    Fields stay bounded, since the weights of states in a sum add up to at most 0.95 and the rest
    of it is bounded. Every edge matters, since mechanisms are drawn until the later half of 100
    pilot episodes shows that

    - shuffling a parent among the episodes, with all else and the noise equal, moves its target
      by 0.15 of the target's spread or more (root mean square), hence more than its noise does,
      or changes its category in 15 % of cases or more;
    - every condition holds in 20 to 80 % of cases, with few values close to its threshold;
    - 1 % or more of a parent's variance is no linear function of the other fields, so that no
      other field can stand in for it;
    - a decoy has a correlation of 0.8 or more with the field that it resembles.

    >>> print(draw_mixed(4, False, True, 2, 3).graph)
    A.x1 <- self.x1, A[*].a
    A.x2 <- self.x2, A[*].a
    B.x1 <- self.x1, A[*].x2
    """
    designs = (
        Design([world_seed, attempt], varying, decoys, max_classes, max_fields)
        for attempt in count()
    )
    drawn = (_settle(design, varying, decoys) for design in designs)
    return next(blueprint for blueprint in drawn if blueprint is not None)


def _settle(design: Design, varying: bool, decoys: bool) -> Blueprint | None:
    """Have a design redrawn until it is fair; None if that takes long."""
    if decoys and design.decoy is None:
        return None
    for pilot_round in range(MAX_ROUNDS):
        mechanisms = design.mechanisms()
        found = _decoys(mechanisms)
        if decoys and not found:
            design.redraw(design.targets)
            continue
        starts = {m.own[:2]: Start(near=m.decoy_of) for m in found}
        blueprint = Blueprint(design.schema, design.max_objects, varying, mechanisms, starts)
        pilot = _run_pilot(blueprint, np.random.default_rng([*design.seed, 0]))
        design.sample = {
            (c, f): values[pilot.present[c]]
            for c, fields in pilot.values.items()
            for f, values in fields.items()
        }
        # Thresholds and noise follow the spread of the fields, and that follows from them:
        # every other round only lets them settle.
        if pilot_round % 2:
            unfair = _unfair(mechanisms, pilot, design)
            if not unfair:
                return blueprint
            design.redraw(unfair)
    return None


Mechanisms = list[RealMechanism | CategoryMechanism]


def _decoys(mechanisms: Mechanisms) -> list[RealMechanism]:
    return [m for m in mechanisms if isinstance(m, RealMechanism) and m.decoy_of]


def _unfair(mechanisms: Mechanisms, pilot: WorldState, design: Design) -> list[Source]:
    """The fields that do not bear out what `draw_mixed` promises."""
    unique = {c: _unique_shares(pilot, design.sources(c), c) for c in design.max_objects}
    unfair = [m.own for m in mechanisms if not _is_fair(m, pilot, unique[m.own[0]])]
    for m in _decoys(mechanisms):
        like = Source(m.own.class_name, str(m.decoy_of), True)
        pair = [design.sample[s[:2]] for s in (m.own, like)]
        if m.own in unfair or np.corrcoef(pair)[0, 1] < MIN_LIKENESS:
            unfair.append(like)
    return unfair


def _run_pilot(blueprint: Blueprint, rng: np.random.Generator) -> WorldState:
    """Some episodes: the moments of their later halves with actions, each as a world."""
    state, moments = blueprint.reset(PILOT_WORLDS, rng), []
    for _ in range(PILOT_STEPS):
        actions = blueprint.random_actions(state, rng)
        moments.append(join(state, actions).values)
        state = blueprint.step(state, actions, rng)
    late = moments[PILOT_STEPS // 2 :]  # what is left of a field when its start is forgotten
    values = {
        c: {f: np.concatenate([moment[c][f] for moment in late]) for f in fields}
        for c, fields in late[0].items()
    }
    return WorldState(values, {c: np.tile(v, (len(late), 1)) for c, v in state.present.items()})


def _unique_shares(
    pilot: WorldState, sources: list[Source], target_class: str
) -> dict[Source, float]:
    """Which share of a source's variance no linear function of the others explains.

    Of other objects it takes the mean, in worlds where each class has some. Sources that hardly
    vary are left out.
    """
    columns, rows = {}, pilot.present[target_class].copy()
    for source in sources:
        values, counts = read(pilot, source, target_class)
        if not source.is_local:
            rows &= counts.any(-1)
            values = (values * counts).sum(-1) / np.maximum(counts.sum(-1), 1)
        columns[source] = values
    columns = {s: values[rows] for s, values in columns.items() if np.ptp(values[rows]) > 1e-4}
    # The ridge keeps the matrix regular if two columns are equal; their shares are then tiny.
    correlation = np.corrcoef(list(columns.values())) + 1e-6 * np.eye(len(columns))
    return dict(zip(columns, 1 / np.diag(np.linalg.inv(correlation)), strict=True))


def _is_fair(
    mechanism: RealMechanism | CategoryMechanism, pilot: WorldState, unique: Mapping[Source, float]
) -> bool:
    """Whether all parents matter, and all conditions hold in part of the cases."""
    name = mechanism.own.class_name
    present = pilot.present[name]
    inputs = {s: read(pilot, s, name) for s in mechanism.sources}
    shuffled = np.random.default_rng(0).permutation(len(present))

    def after(seen: Inputs) -> np.ndarray:
        found = mechanism.distribution(seen, present.shape)
        return found.sample(np.random.default_rng(1))[present]

    plain = after(inputs)
    spread = float(plain.std())
    noise = mechanism.noise if isinstance(mechanism, RealMechanism) else 0.0
    if spread < MIN_SPREAD or (noise and not 0.8 * NOISE[0] < noise / spread < 1.2 * NOISE[1]):
        return False
    for source, (values, counts) in inputs.items():
        changed = after({**inputs, source: (values[shuffled], counts)})
        effect = np.mean(changed != plain)
        if isinstance(mechanism, RealMechanism):
            effect = np.sqrt(np.mean((changed - plain) ** 2)) / spread
        if effect < MIN_EFFECT or unique.get(source, 0.0) < MIN_UNIQUE:
            return False
    return all(condition.is_fair(inputs) for condition in mechanism.conditions)
