"""Generated: random worlds of objects whose true graphs are known, to test discovery on."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import numpy as np

from oocdm.data.log import Arrays
from oocdm.envs.design import NOISE, Design
from oocdm.envs.mechanisms import (
    CATEGORIES,
    Inputs,
    Mechanism,
    RealMechanism,
    Source,
)
from oocdm.envs.option_checks import check_count
from oocdm.envs.padding import present_rows, zero_absent
from oocdm.graph import ClassGraph, Edge
from oocdm.reading import Seed, read
from oocdm.worlds.world import AbstractWorld, WorldState

PILOT_WORLDS, PILOT_STEPS, MAX_ROUNDS = 100, 20, 20
MIN_EFFECT = 0.15  # of a parent on its target, in spreads of the target
MIN_SPREAD = 0.1  # of a field
MIN_UNIQUE = 0.01  # share of a parent's variance that is no linear function of other fields
MIN_LIKENESS = 0.8  # correlation of a decoy with the parent that it resembles


class GeneratedWorld(AbstractWorld):
    """A random world of some classes, drawn from `world_seed`, with its true graph.

    There are two to `max_classes` classes with two to `max_fields` fields and one to four objects
    each. A real field is a sum of some of: part of itself; other fields of its object, some only
    where a gate is open; the largest value of a field among other objects; the number of other
    objects above a threshold or in a category. Or it only keeps itself, or drifts. A field with
    three categories goes to the next one, for sure or with a chance, if a condition on a parent
    holds. About half of the fields have noise, some 5 to 10 % of their spread. A decoy repeats
    the mechanism of a field that causes others, with noise of its own, but causes nothing. Real
    fields start in (-1, 1), actions are uniform. There is no reward, and an episode lasts
    `max_episode_steps`.

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

    More options: `varying` (an episode draws the number of objects of each class, from 1 on) and
    `decoys` (the world has a decoy); None leaves it to the seed.

    >>> world = GeneratedWorld(world_seed=4)
    >>> print(world.describe())
    2 A, 3 B
    A.x1' = 0.66 self.x1 + 0.30 count(A[*].a is 2) + N(0, sd 0.021) (a decoy of x2)
    A.x2' = 0.66 self.x2 + 0.30 count(A[*].a is 2)
    B.x1' = 0.51 self.x1 + 0.48 count(A[*].x2 > 0.40) + N(0, sd 0.032)
    >>> print(world.true_graph)
    A.x1 <- self.x1, A[*].a
    A.x2 <- self.x2, A[*].a
    B.x1 <- self.x1, A[*].x2
    """

    def __init__(
        self,
        *,
        world_seed: int = 0,
        varying: bool | None = None,
        decoys: bool | None = None,
        max_classes: int = 2,
        max_fields: int = 3,
        max_episode_steps: int = 30,
    ) -> None:
        self.world_seed = read(Seed, world_seed, "Option `world_seed`")
        self.max_episode_steps = check_count("max_episode_steps", max_episode_steps, low=1)
        check_count("max_classes", max_classes, low=2)
        check_count("max_fields", max_fields, low=2)
        coins = np.random.default_rng(self.world_seed).random(2)
        self.varying = bool(coins[0] < 0.4) if varying is None else varying
        self.decoys = bool(coins[1] < 0.6) if decoys is None else decoys
        for attempt in count():
            design = Design(
                [self.world_seed, attempt], self.varying, self.decoys, max_classes, max_fields
            )
            if self._is_settled(design):
                break
        edges = [Edge(*s[:2], *m.own[:2], s.is_local) for m in self.mechanisms for s in m.sources]
        self.true_graph = ClassGraph.of_edges(self.schema, edges)

    def describe(self) -> str:
        """The numbers of objects and the mechanisms in words, one a line."""
        few = "1 to " if self.varying else ""
        numbers = ", ".join(f"{few}{n} {name}" for name, n in self.max_objects.items())
        return "\n".join([numbers, *map(str, self.mechanisms)])

    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        """Start episodes: everything is uniform, but decoys are close to what they resemble."""
        values, present = {}, {}
        for name, rows in self.max_objects.items():
            least = 1 if self.varying else rows
            present[name] = present_rows(rng.integers(least, rows + 1, size=num_worlds), rows)
            values[name] = self._draw_values(name, "state", (num_worlds, rows), rng)
        for m in self._decoys():
            fields = values[m.own.class_name]
            fields[m.own.field_name] *= np.float32(0.1)
            fields[m.own.field_name] += fields[str(m.decoy_of)]
        return WorldState({c: zero_absent(v, present[c]) for c, v in values.items()}, present)

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> Arrays:
        """Uniform actions."""
        return {
            name: zero_absent(self._draw_values(name, "action", present.shape, rng), present)
            for name, present in state.present.items()
        }

    def step(
        self, state: WorldState, actions: Arrays, rng: np.random.Generator
    ) -> tuple[WorldState, np.ndarray, np.ndarray]:
        """One step of every world; the reward is 0."""
        before, present = _join(state, actions), state.present
        values: dict[str, dict[str, np.ndarray]] = {name: {} for name in present}
        for m in self.mechanisms:
            name, field_name, _ = m.own
            inputs = {s: _read(before, s, name) for s in m.sources}
            values[name][field_name] = m.step(inputs, present[name].shape, rng)
        after = {name: zero_absent(fields, present[name]) for name, fields in values.items()}
        reward = np.zeros(len(next(iter(present.values()))), dtype=np.float32)
        return WorldState(after, present), reward, reward > 0

    def _draw_values(
        self, name: str, role: str, shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        return {
            f: rng.uniform(-1, 1, shape).astype(np.float32)
            if field.is_real
            else rng.integers(CATEGORIES, size=shape)
            for f, field in self.schema.fields(name).items()
            if field.role == role
        }

    def _decoys(self) -> list[RealMechanism]:
        return [m for m in self.mechanisms if isinstance(m, RealMechanism) and m.decoy_of]

    # ---------------------------------------------------------------- drawing the world

    def _is_settled(self, design: Design) -> bool:
        """Take on a design and have it redrawn until it is fair; False if that takes long."""
        self.schema, self.max_objects = design.schema, design.max_objects
        if self.decoys and design.decoy is None:
            return False
        for pilot_round in range(MAX_ROUNDS):
            self.mechanisms = design.mechanisms()
            if self.decoys and not self._decoys():
                design.redraw(design.targets)
                continue
            pilot = self._run_pilot(np.random.default_rng([*design.seed, 0]))
            design.sample = {
                (c, f): values[pilot.present[c]]
                for c, fields in pilot.values.items()
                for f, values in fields.items()
            }
            # Thresholds and noise follow the spread of the fields, and that follows from them:
            # every other round only lets them settle.
            if pilot_round % 2:
                unfair = self._unfair(pilot, design)
                if not unfair:
                    return True
                design.redraw(unfair)
        return False

    def _unfair(self, pilot: WorldState, design: Design) -> list[Source]:
        """The fields that do not bear out what the class promises."""
        unique = {c: _unique_shares(pilot, design.sources(c), c) for c in self.max_objects}
        unfair = [m.own for m in self.mechanisms if not _is_fair(m, pilot, unique[m.own[0]])]
        for m in self._decoys():
            like = Source(m.own.class_name, str(m.decoy_of), True)
            pair = [design.sample[s[:2]] for s in (m.own, like)]
            if m.own in unfair or np.corrcoef(pair)[0, 1] < MIN_LIKENESS:
                unfair.append(like)
        return unfair

    def _run_pilot(self, rng: np.random.Generator) -> WorldState:
        """Some episodes: the moments of their later halves with actions, each as a world."""
        state, moments = self.reset(PILOT_WORLDS, rng), []
        for _ in range(PILOT_STEPS):
            actions = self.random_actions(state, rng)
            moments.append(_join(state, actions).values)
            state, _, _ = self.step(state, actions, rng)
        late = moments[PILOT_STEPS // 2 :]  # what is left of a field when its start is forgotten
        values = {
            c: {f: np.concatenate([moment[c][f] for moment in late]) for f in fields}
            for c, fields in late[0].items()
        }
        return WorldState(values, {c: np.tile(v, (len(late), 1)) for c, v in state.present.items()})


# ---------------------------------------------------------------- reading and checking


def _join(state: WorldState, actions: Arrays) -> WorldState:
    """States and actions together."""
    values = {c: {**fields, **actions.get(c, {})} for c, fields in state.values.items()}
    return WorldState(values, state.present)


def _read(state: WorldState, source: Source, target_class: str) -> tuple[np.ndarray, np.ndarray]:
    """What a source shows to the objects of a class, and which of it counts."""
    values = state.values[source.class_name][source.field_name]
    present = state.present[source.class_name]
    if source.is_local:
        return values, present
    is_other = np.ones((state.present[target_class].shape[1], present.shape[1]), dtype=bool)
    if source.class_name == target_class:
        np.fill_diagonal(is_other, False)
    counts = present[:, None] & is_other
    return np.broadcast_to(values[:, None], counts.shape), counts


def _unique_shares(
    pilot: WorldState, sources: list[Source], target_class: str
) -> dict[Source, float]:
    """Which share of a source's variance no linear function of the others explains.

    Of other objects it takes the mean, in worlds where each class has some. Sources that hardly
    vary are left out.
    """
    columns, rows = {}, pilot.present[target_class].copy()
    for source in sources:
        values, counts = _read(pilot, source, target_class)
        if not source.is_local:
            rows &= counts.any(-1)
            values = (values * counts).sum(-1) / np.maximum(counts.sum(-1), 1)
        columns[source] = values
    columns = {s: values[rows] for s, values in columns.items() if np.ptp(values[rows]) > 1e-4}
    # The ridge keeps the matrix regular if two columns are equal; their shares are then tiny.
    correlation = np.corrcoef(list(columns.values())) + 1e-6 * np.eye(len(columns))
    return dict(zip(columns, 1 / np.diag(np.linalg.inv(correlation)), strict=True))


def _is_fair(mechanism: Mechanism, pilot: WorldState, unique: Mapping[Source, float]) -> bool:
    """Whether all parents matter, and all conditions hold in part of the cases."""
    name = mechanism.own.class_name
    present = pilot.present[name]
    inputs = {s: _read(pilot, s, name) for s in mechanism.sources}
    shuffled = np.random.default_rng(0).permutation(len(present))

    def after(seen: Inputs) -> np.ndarray:
        return mechanism.step(seen, present.shape, np.random.default_rng(1))[present]

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
