"""Episodes of a generated world that are run to learn what its fields do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oocdm.data.log import Arrays
from oocdm.envs.generated.blueprint import Blueprint
from oocdm.envs.generated.source import join
from oocdm.schema import Field
from oocdm.worlds.world import WorldState


@dataclass(frozen=True)
class Pilot:
    """Moments of many episodes, each as a world: states with actions, and the next states."""

    before: WorldState
    after: Arrays

    def usual_change(self, class_name: str, field_name: str) -> np.ndarray:
        """The spread of a field's change in one step, one a component; its own if it never does."""
        present = self.before.present[class_name]
        before = self.before.values[class_name][field_name][present].astype(np.float64)
        after = self.after[class_name][field_name][present]
        change, spread = (after - before).std(0), before.std(0)
        return np.asarray(np.where(change > 1e-9, change, np.where(spread > 1e-9, spread, 1.0)))

    def largest(self) -> float:
        """The largest number of all, without its sign; infinite if one is no number."""
        numbers = [np.abs(v).max() for fields in self.after.values() for v in fields.values()]
        largest = float(np.max(numbers))
        return largest if np.isfinite(largest) else np.inf

    def select(self, moments: np.ndarray | slice) -> Pilot:
        """Some of the moments."""
        after = {c: {f: v[moments] for f, v in fields.items()} for c, fields in self.after.items()}
        before = WorldState(
            {c: {f: v[moments] for f, v in d.items()} for c, d in self.before.values.items()},
            {c: v[moments] for c, v in self.before.present.items()},
        )
        return Pilot(before, after)

    @property
    def size(self) -> int:
        """The number of moments."""
        return len(next(iter(self.before.present.values())))


def is_jittered(field: Field) -> bool:
    """Whether values of a field are scored as numbers, and not as choices.

    >>> from oocdm.schema import Boolean, Real
    >>> is_jittered(Real()), is_jittered(Boolean())
    (True, False)
    """
    return field.is_real or not field.num_codes


def run_pilot(
    blueprint: Blueprint, num_worlds: int, num_steps: int, seed: list[int], ood: bool = False
) -> Pilot:
    """All moments of some episodes, in random order; a world that explodes does it quietly."""
    rng = np.random.default_rng(seed)
    state = blueprint.reset(num_worlds, rng, ood)
    before, after = [], []
    for _ in range(num_steps):
        actions = blueprint.random_actions(state, rng)
        before.append(join(state, actions).values)
        with np.errstate(over="ignore", invalid="ignore"):
            state = blueprint.step(state, actions, rng)
        after.append(state.values)
    present = {c: np.tile(v, (num_steps, 1)) for c, v in state.present.items()}
    pilot = Pilot(WorldState(_pooled(before), present), _pooled(after))
    return pilot.select(rng.permutation(pilot.size))


def _pooled(moments: list[Arrays]) -> Arrays:
    return {
        c: {f: np.concatenate([moment[c][f] for moment in moments]) for f in fields}
        for c, fields in moments[0].items()
    }
