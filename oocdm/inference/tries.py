"""Many tries of actions from one state, as a planner makes them."""

from __future__ import annotations

from typing import final

from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.inference.dynamics import Dynamics, FieldName


@final
class Tries:
    """The tries of one plan: what no action can have reached is simulated once.

    All tries start from one state, and step `t` of each has the seed `first_seed + t`. Which
    fields actions reach within so many steps follows from the graph; the others go on alike
    whatever is tried, and so does the noise. Whoever makes it keeps it for one plan only.

    >>> import oocdm
    >>> import torch
    >>> env = oocdm.make("mouse")
    >>> data = oocdm.collect(env, steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> dynamics = Dynamics(oocdm.fit(data, graph=env.true_graph, schedule=quick))
    >>> tries, before = Tries(dynamics, first_seed=7), data.transitions(slice(0, 5)).before
    >>> alone = dynamics.step(before, seed=7)["Food", "amount"]
    >>> [torch.equal(tries.step(before, seed=7)["Food", "amount"], alone) for _ in range(2)]
    [True, True]
    """

    def __init__(self, dynamics: Dynamics, first_seed: int) -> None:
        self._dynamics, self._first_seed = dynamics, first_seed
        self._numbers = dynamics.random_numbers(keeps=True)
        # By step and number of rows: planners may try more or fewer sequences at a time.
        self._shared: dict[tuple[int, int], dict[FieldName, Tensor]] = {}

    def step(self, before: Snapshot, seed: int) -> Snapshot:
        """As `Dynamics.step`, from a state that a try has reached."""
        t = seed - self._first_seed
        key = (t, before.batch_size)
        # Copies are handed out: whatever a task does with them, the next try sees none of it.
        shared = {name: value.clone() for name, value in self._shared.get(key, {}).items()}
        after = self._dynamics.step_beside(before, seed, shared, self._numbers)
        if key not in self._shared:
            unreached = self._dynamics.unreached
            chosen = unreached[min(t + 1, len(unreached) - 1)]
            self._shared[key] = {(c, f): after.values[c][f].clone() for c, f in chosen}
        return after
