"""How the tries of a plan are divided so that they stay within memory, and what it will take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.models.allocator import release_freed_memory
from oocdm.models.memory import GIB, LIBRARIES, SPARE, measure, say_memory
from oocdm.planning.actions import ActionVariables, action_fields
from oocdm.planning.beliefs import Belief
from oocdm.planning.discounting import discounted_returns
from oocdm.planning.simulator import DivisibleSimulator

# Parts of so many rows are predicted as in the whole batch, to the last bit: those are the
# multiples at which vectors and blocks of products begin anew.
ALIGNED = 32
WORKING_SHARE = 4  # of what is free is for steps, once they are divided; the rest keeps noise
LOOK = 2  # steps that are measured: later ones take no more
MEASURED = 64  # rows, the more of them the less what each one takes is overrated

# Bytes at most of a number of each kind, with what making it and learning from it take beside.
NUMBERS = 36  # a number in a sequence that is tried
CHOICES = 56  # a choice in one
PROBABILITIES = 48  # of a value of a choice, in what is believed of the sequences
DECODED = 24  # an action of an object
DRAWN = 32  # what the noise of a field is drawn with
KEPT = 24  # a value that all tries share, and its noise


@dataclass(frozen=True)
class PlanMemory:
    """Bytes that a plan takes beside the model.

    >>> print(PlanMemory(sequences=2**20, steps=2**24, kept=2**21))
    plan: about 128 MiB of memory: sequences 1 MiB, steps 16 MiB, kept for all tries 2 MiB.
    """

    sequences: int  # all that are tried, and what their distributions take
    steps: int  # of as many tries as are stepped at once
    kept: int

    @property
    def total(self) -> int:
        """The most at any time."""
        return LIBRARIES + math.ceil(SPARE * (self.sequences + self.steps + self.kept))

    def __str__(self) -> str:
        return (
            f"plan: about {say_memory(self.total)} of memory: sequences "
            f"{say_memory(self.sequences)}, steps {say_memory(self.steps)}, kept for all tries "
            f"{say_memory(self.kept)}."
        )


@dataclass(frozen=True)
class Effort:
    """How many sequences are tried at a time, in how many futures each, and whether they share.

    >>> Effort(sequences=500, futures=1, are_kept=True).sequences
    500
    """

    sequences: int
    futures: int
    are_kept: bool


@dataclass(frozen=True)
class Division:
    """How many rows, one a try and world, are stepped `at_once`, and the room for what they share.

    >>> division = Division(at_once=64, room=0, estimate=PlanMemory(0, 0, 0))
    >>> list(division.parts(100))
    [range(0, 64), range(64, 100)]
    """

    at_once: int
    room: int
    estimate: PlanMemory

    def parts(self, rows: int) -> Iterator[range]:
        """The rows of each part."""
        for first in range(0, rows, self.at_once):
            yield range(first, min(first + self.at_once, rows))


def divide(
    simulator: DivisibleSimulator,
    state: Snapshot,
    start: Belief,
    effort: Effort,
    seed: int,
    memory: int,
) -> Division:
    """What fits into some bytes of memory when so much is tried at a time.

    A little is measured, once for each simulator and numbers of objects. Raises a `PlanError` that
    tells what is needed if not even one try fits.
    """
    variables, horizon, counts = start.variables, start.horizon, state.counts
    rows = effort.futures * effort.sequences * state.batch_size
    each = NUMBERS * variables.num_numbers + CHOICES * variables.num_choices
    tried = each * horizon * effort.sequences + PROBABILITIES * start.probabilities.numel()
    schema = state.schema
    acts = sum(counts[c] * field.size for c, _, field in action_fields(schema))
    targets = [
        counts[c] * schema.field(c, f).size for c in schema.classes for f in schema.targets(c)
    ]
    kept = KEPT * rows * horizon * sum(targets) if effort.are_kept else 0
    free = round((memory - LIBRARIES) / SPARE) - tried
    look = _Look(simulator, state, variables, start.mode()[:LOOK], seed)

    def taken(num: int) -> int:
        return look.taken(num) + num * DECODED * horizon * acts

    whole = taken(1) * rows
    if whole + kept <= free:
        return Division(rows, kept, PlanMemory(tried, whole, kept))
    noise = DRAWN * rows * max(targets)  # all of it is drawn, whatever part is stepped
    free -= noise
    at_once, bytes_of_each = _fitting(taken, rows, free // WORKING_SHARE)
    if at_once < min(ALIGNED, rows):  # fewer than are aligned only where there is no choice
        at_once, bytes_of_each = _fitting(taken, min(ALIGNED, rows), free)
    if ALIGNED < at_once < rows:
        at_once -= at_once % ALIGNED
    steps = int(max(at_once, 1) * bytes_of_each)
    room = min(kept, max(free - steps, 0))
    estimate = PlanMemory(tried, noise + steps, room)
    release_freed_memory()  # parts are of another size than what was measured
    if at_once == 0:
        needed = estimate.total
        raise PlanError(
            f"plan: `memory`: expected at least {say_memory(needed)}, got {say_memory(memory)}. "
            f"{estimate} Give more, such as memory='{-(-needed // GIB)}GiB', or plan with fewer "
            "samples, a shorter horizon, or fewer worlds or objects at a time."
        )
    return Division(at_once, room, estimate)


def _fitting(taken: Callable[[int], int], most: int, limit: int) -> tuple[int, float]:
    """How many rows are sure to fit, and the bytes of each of them at most.

    Some work takes the same for any number of rows, so each of many takes less than each of few.
    No more are tried than are known to fit.
    """
    one = taken(1)
    some = min(limit // one, MEASURED, most)
    if some <= 1:
        return max(some, 0), one
    each = taken(some) / some
    return min(int(limit / each), most), each


@dataclass(frozen=True)
class _Look:
    """A look at a few rows, to see what they take."""

    simulator: DivisibleSimulator
    state: Snapshot
    variables: ActionVariables
    sequence: Tensor
    seed: int

    def taken(self, rows: int) -> int:
        """Bytes that the first steps of so many rows take at most."""
        state = self.state
        is_full = tuple(bool(present.all()) for present in state.present.values())
        key = (rows, len(self.sequence), *state.counts.items(), *is_full, state.is_all_known)
        measured = self.simulator.measured
        if key not in measured:
            if not measured:
                self._work(1)  # what is made once is not what every step takes
            measured[key] = measure(lambda: self._work(rows)).peak
        return measured[key]

    def _work(self, rows: int) -> None:
        batch, device = self.state.batch_size, self.state.device
        tries = -(-rows // batch)
        worlds = torch.arange(rows, device=device) % batch
        # What is wrong with a task is told where it is asked in earnest, of all rows.
        with torch.inference_mode(), suppress(Exception):
            discounted_returns(
                self.simulator.begin_plan(self.seed, room=0),
                self.state.map(lambda tensor: tensor[worlds]),
                self.variables,
                self.sequence.expand(tries, -1, -1),
                discount=1.0,
                seed=self.seed,
            )
