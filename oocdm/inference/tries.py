"""Many tries of actions from one state, as a planner makes them."""

from __future__ import annotations

from typing import final

from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.inference.dynamics import Dynamics, FieldName
from oocdm.inference.random_numbers import Part
from oocdm.inference.shelf import Shelf


@final
class Tries:
    """The tries of one plan: what no action can have reached is simulated once.

    All tries start from one state, and step `t` of each has the seed `first_seed + t`. Which
    fields actions reach within so many steps follows from the graph; the others go on alike
    whatever is tried, and so does the noise. Both are kept as far as there is `room` for them, in
    bytes, and for as many tries as were made last. Whoever makes it keeps it for one plan only.

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

    def __init__(self, dynamics: Dynamics, first_seed: int, room: int | None = None) -> None:
        self._dynamics, self._first_seed = dynamics, first_seed
        self._shelf, self._total = Shelf(room), 0
        self._numbers = dynamics.random_numbers(self._shelf)

    def step(self, before: Snapshot, seed: int, part: Part | None = None) -> Snapshot:
        """As `Dynamics.step`, from a state that a try has reached; or a `part` of the tries."""
        t, rows = seed - self._first_seed, before.batch_size
        first, total = (0, rows) if part is None else (part.first, part.total)
        if total != self._total:  # more or fewer sequences, to which nothing of this applies
            self._shelf.clear()
            self._total = total
        unreached = self._dynamics.unreached
        chosen = unreached[min(t + 1, len(unreached) - 1)]
        shared: dict[FieldName, Tensor] = {}
        for name in chosen:
            kept = self._shelf.get((t, first, rows, name))
            if kept is not None:
                # A copy: whatever a task does with it, the next try sees none of it.
                shared[name] = kept.clone()
        after = self._dynamics.step_beside(before, seed, shared, self._numbers, part)
        for c, f in chosen:
            new = after.values[c][f]
            if (c, f) not in shared and self._shelf.has_room(new):
                self._shelf.put((t, first, rows, (c, f)), new.clone())
        return after
