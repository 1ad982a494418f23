"""How often is discovery wrong, and how far are predictions below the truth? Generated worlds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from oocdm.bench.calibration_summary import summarise_families
from oocdm.bench.machine import describe_machine
from oocdm.bench.results import recall_all
from oocdm.bench.truth_scores import score_fields
from oocdm.data.dataset import Dataset
from oocdm.envs import make
from oocdm.envs.generated import GeneratedWorld
from oocdm.envs.generated.families import FAMILIES
from oocdm.envs.generated.world import MIXED
from oocdm.errors import OocdmError, suggest
from oocdm.graph import ClassEdges
from oocdm.methods import Schedule
from oocdm.training import FitResult, fit
from oocdm.worlds import collect

ALL_FAMILIES = (MIXED, *FAMILIES)

# How long a fit may take is the only thing that is not the product's default: small worlds are
# learned in fewer steps than those of the paper. It is a number of steps, not of seconds, so that
# results do not depend on the machine. They were chosen for a median of at most 60 s of processor
# time a world, and 8 minutes for a large one, by the time that a step and a discovery take.
SCHEDULE = Schedule(
    iterations=6, steps_per_iteration=150, polish_steps=500, patience=6, batch_size=256
)
SCHEDULES: Mapping[str, Schedule] = {
    "large": replace(SCHEDULE, iterations=12, steps_per_iteration=400, polish_steps=2000)
}
STEPS = 10_000  # transitions that are learned from
TEST_STEPS = 3_000  # each, that start as in training and elsewhere
# Seeds of the data; those of worlds say which world it is.
LEARNED, TESTED = 0, 1

Tell = Callable[[int, int], None]  # worlds done, of how many


def run_calibration(
    families: Sequence[str],
    seeds: Sequence[int],
    results_folder: str | Path | None = None,
    jobs: int = 1,
    progress: Tell = lambda done, total: None,
) -> dict[str, Any]:
    """Fit a generated world of each family for each seed, and compare it with the truth.

    With a results folder each finished world is written there, and worlds that are there
    already are read instead of run again. `jobs` of them are fitted side by side.
    """
    for family in families:
        if family not in ALL_FAMILIES:
            raise OocdmError(
                f"bench calibration: no family `{family}`. {suggest(family, ALL_FAMILIES)}"
            )
    measures = {
        f"{family}-{seed:05d}": partial(_run_world, family, seed)
        for family in families
        for seed in seeds
    }
    worlds = recall_all(results_folder, measures, jobs, progress)
    return {"worlds": worlds, "summary": summarise_families(worlds)}


def _run_world(family: str, seed: int) -> dict[str, Any]:
    world = _world(family, seed)
    data, schedule = collect(world, STEPS, seed=LEARNED), SCHEDULES.get(family, SCHEDULE)
    started = time.process_time()
    result = fit(data, seed=seed, schedule=schedule)
    processor_seconds = time.process_time() - started
    return {
        "family": family,
        "world_seed": seed,
        "varying": world.varying,
        "decoys": world.decoys,
        "mechanisms": world.describe().splitlines()[1:],
        "graph": str(result.class_graph).splitlines(),
        "edges": _edges(result, world, data),
        "fields": {
            "id": score_fields(result, world, collect(world, TEST_STEPS, seed=TESTED)),
            "ood": score_fields(
                result, world, collect(_world(family, seed, ood=True), TEST_STEPS, seed=TESTED)
            ),
        },
        "settled": result.settled,
        "schedule": asdict(schedule),
        "seconds": result.seconds,
        "processor_seconds": processor_seconds,
        "command": f"oocdm bench calibration --family {family} --seeds {seed}",
        **describe_machine(),
    }


def _world(family: str, seed: int, ood: bool = False) -> GeneratedWorld:
    world = make("generated", family=family, world_seed=seed, ood=ood).world
    assert isinstance(world, GeneratedWorld)
    return world


def _edges(result: FitResult, world: GeneratedWorld, data: Dataset) -> list[dict[str, Any]]:
    """One row for each edge that can occur: what it is, what was found, and the evidence.

    True edges have what they are worth, in nats a number of the target.
    """
    assert world.true_graph is not None
    testable = ClassEdges.of(data.schema).testable(data.max_counts, data.constants)
    true, found = world.true_graph.mask, result.class_graph.mask
    worths = {str(edge): worth for edge, worth in world.worths().items()}
    rows = []
    for i, evidence in enumerate(result.evidence.rows()):
        if not testable[i]:
            continue
        row = {**evidence, "is_true": bool(true[i]), "is_found": bool(found[i])}
        if true[i]:
            worth = worths[evidence["edge"]]
            row |= {"worth": worth.nats, "worth_error": worth.error}
        rows.append(row)
    return rows
