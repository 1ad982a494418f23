"""How the work of a fit is divided so that it stays within memory, and what it will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import torch

from oocdm.discovery.gains import portions
from oocdm.errors import ModelError
from oocdm.models.allocator import release_freed_memory
from oocdm.models.memory import (
    GIB,
    LIBRARIES,
    SPARE,
    Fit,
    Used,
    largest_fit,
    measure,
    say_memory,
)
from oocdm.models.prepared import Budget, Kept, Prepared
from oocdm.models.world_model import AbstractWorldModel
from oocdm.training.batch import Batch
from oocdm.training.optimiser import make_optimiser

# Pieces of work are small: they are done as fast, and leave no large gaps in memory behind.
WORKING_SHARE = 16
KEPT_SHARE = 4  # a quarter of what is free may be for inputs that are kept


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes that a fit takes beside the dataset that it is given.

    `working[phase]` is what comes and goes in a phase, the other numbers what stays.

    >>> print(MemoryEstimate(2**20, 2**20, 2**21, 2**22, {"learning": 2**23}))
    fit: about 118 MiB of memory: data 1 MiB, inputs 1 MiB, weights 2 MiB, optimiser 4 MiB, \
learning 8 MiB.
    """

    data: int  # the dataset, divided for training and for discovery
    inputs: int  # what the model reads of it, if that is kept
    weights: int  # of the model, of its copy when the graph was decided, and of those for doubts
    optimiser: int
    working: Mapping[str, int]

    @property
    def total(self) -> int:
        """The most at any time."""
        stays = self.data + self.inputs + self.weights + self.optimiser + LIBRARIES
        return stays + int(SPARE * max(self.working.values()))

    def __str__(self) -> str:
        parts = {
            "data": self.data,
            "inputs": self.inputs,
            "weights": self.weights,
            "optimiser": self.optimiser,
            **self.working,
        }
        words = ", ".join(f"{name} {say_memory(size)}" for name, size in parts.items())
        return f"fit: about {say_memory(self.total)} of memory: {words}."


@dataclass(frozen=True)
class Plan:
    """How many rows of a batch are gone through at once, and what all takes."""

    learning: int
    polishing: int
    estimate: MemoryEstimate


@dataclass(frozen=True)
class Standing:
    """What a fit has at hand all the time, in bytes."""

    data: int
    weights: int
    optimiser: int
    update: int  # of a step of the optimiser, beside gradients
    gradients: int

    @staticmethod
    def of(model: AbstractWorldModel, optimiser: str, data: int, copies: int = 0) -> Standing:
        """For a model and an optimiser by its name, with so many bytes of data, and copies."""
        weights = sum(t.nbytes for t in (*model.parameters(), *model.buffers()))
        gradients = sum(p.nbytes for p in model.parameters())
        kept = (2 + copies) * weights
        return Standing(data, kept, *_optimiser_bytes(model, optimiser), gradients)

    @property
    def total(self) -> int:
        """All that stays."""
        return self.data + self.weights + self.optimiser + LIBRARIES

    def budget(self, memory: int, targets: int) -> Budget:
        """How some memory is divided: the less is free, the less for each piece of work."""
        free = max(int((memory - self.total) / SPARE) - self.gradients, 0)
        kept = free // KEPT_SHARE
        largest = free - 2 * kept  # inputs of training and of discovery
        return Budget(min(memory // WORKING_SHARE, largest), largest, kept, targets)

    def needed(self, taken: int) -> int:
        """How much memory there must be so that a piece of work may take so much."""
        return self.total + 2 * int(SPARE * (self.gradients + taken))


def make_plan(
    standing: Standing,
    prepared: Sequence[Prepared],
    learned: Batch,
    polished: Batch | None,
    held_out: Prepared | None,
    memory: int,
    focus: Fit | None = None,
) -> Plan:
    """Measure a little of each phase; raise a `ModelError` if not even that fits.

    `held_out` are data for discovery, and `focus` is what learning single targets alone takes;
    None if there is no such phase.
    """
    learning = rows_that_fit(learned, standing.gradients)
    polishing = learning
    if polished is not None and (learning.size < len(learned) or len(polished) > len(learned)):
        polishing = rows_that_fit(polished, standing.gradients)
    step = standing.gradients + standing.update
    phases, smallest = {"learning": max(learning.taken, step)}, [learning, polishing]
    if held_out is not None:
        release_freed_memory()
        portion = portions(learned.model, held_out)
        phases["discovery"] = standing.gradients + portion.taken
        smallest.append(Fit(portion.rows, portion.taken))
    if focus is not None:
        phases["focus"] = standing.gradients + focus.taken
        smallest.append(focus)
    if polished is not None:
        phases["polishing"] = max(polishing.taken, step)
    inputs = sum(each.num_bytes for each in prepared if isinstance(each.source, Kept))
    parts = (standing.data, inputs, standing.weights, standing.optimiser)
    estimate = MemoryEstimate(*parts, phases)
    too_large = [fit.taken for fit in smallest if fit.size == 0]
    if too_large or estimate.total > memory:
        needed = max([estimate.total, *map(standing.needed, too_large)])
        is_focus = max(phases, key=lambda name: phases[name]) == "focus"
        without = ", or learn no targets alone: focus=False" if is_focus else ""
        raise ModelError(
            f"fit: `memory`: expected at least {say_memory(needed)}, got {say_memory(memory)}. "
            f"{estimate} Give more, such as memory='{-(-needed // GIB)}GiB', or leave out fields, "
            f"categories or objects{without}."
        )
    return Plan(learning.size, polishing.size, estimate)


def rows_at_once(batch: Batch, model: AbstractWorldModel) -> int:
    """How many rows of a batch are gone through at once; one at least."""
    return max(rows_that_fit(batch, sum(p.nbytes for p in model.parameters())).size, 1)


def rows_that_fit(batch: Batch, gradients: int) -> Fit:
    """How many rows of a batch fit, beside gradients of so many bytes; and all bytes of both."""
    budget = batch.data.budget

    def taken(rows: int) -> int:
        used = measure(lambda: batch.backward_of_first(rows))
        batch.model.zero_grad(set_to_none=True)
        return used.peak

    _ = batch.counts  # which all parts share
    limits = (gradients + limit for limit in (budget.working, budget.largest))
    fit = largest_fit(taken, len(batch), *limits)
    return Fit(fit.size, fit.taken + batch.num_bytes)


def _optimiser_bytes(model: AbstractWorldModel, name: str) -> tuple[int, int]:
    """What an optimiser keeps, and what one of its steps takes beside that."""
    used = [
        _of_parameter(name, parameter.shape, parameter.dtype, group.get("matrices"))
        for group in model.parameter_groups()
        for parameter in group["params"]
    ]
    # Parameters move one after the other.
    return sum(each.kept for each in used), max(each.peak - each.kept for each in used)


@cache
def _of_parameter(name: str, shape: torch.Size, dtype: torch.dtype, matrices: str | None) -> Used:
    """What an optimiser needs for one parameter.

    It is measured on torch's device without memory, where nothing is computed.
    """
    parameter = torch.nn.Parameter(torch.empty(shape, dtype=dtype, device="meta"))
    parameter.grad = torch.empty_like(parameter)
    seen_as = {} if matrices is None else {"matrices": matrices}
    optimiser = make_optimiser(name, [{"params": [parameter], **seen_as}])

    def steps() -> None:
        for _ in range(2):  # the second one turns the basis
            optimiser.step()

    return measure(steps)
