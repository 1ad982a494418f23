"""Decisions from a trained model: sequential and fast against the reference, in one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from oocdm.bench.cells import experiment
from oocdm.bench.literal import literal_gains
from oocdm.bench.machine import describe_machine
from oocdm.bench.results import Result, recall
from oocdm.discovery import Gains, Search
from oocdm.methods import Oocdm, Schedule
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.prepared import Prepared
from oocdm.training import FitResult, Progress, fit
from oocdm.worlds import collect

ENVS = ("block10", "mouse")
STEPS = 10_000  # transitions to decide on, which the model was not fitted on
SEED = 0

# Told what is being done, and how far a fit is.
Tell = Callable[[str, Progress], None]


def run_decisions(
    envs: Sequence[str] | None = None,
    results_folder: str | Path | None = None,
    progress: Tell | None = None,
    schedule: Schedule | None = None,
) -> dict[str, Any]:
    """Fit a model, then decide about every edge around its graph in two ways.

    The reference evaluates the predictor of one target for each edge, on all transitions; the
    fast way scores all edges together and stops sampling an edge once its decision is clear.
    """
    chosen = replace(Schedule(), polish_steps=0) if schedule is None else schedule
    rows = [
        recall(results_folder, env, partial(_run_env, env, chosen, progress))
        for env in envs or ENVS
    ]
    return {"rows": rows}


def _run_env(env: str, schedule: Schedule, progress: Tell | None) -> Result:
    def tell(state: Progress) -> None:
        if progress is not None:
            progress(env, state)

    chosen = experiment(env)
    world = chosen.make("released")
    data = chosen.training_data("released", SEED)
    options = chosen.fit_options("oocdm", "default")
    result = fit(data, seed=SEED, schedule=schedule, callback=tell, **options)
    fresh = collect(world, STEPS, seed=SEED + 1)
    rows = np.random.default_rng(SEED).permutation(len(fresh))
    return {
        "env": env,
        "transitions": STEPS,
        **_compare(result, Prepared.of(result.learned, fresh, rows), fresh.max_counts),
        "fit_steps": result.history[-1]["step"],
        "command": f"oocdm bench decisions --env {env}",
        **describe_machine(),
    }


def _compare(result: FitResult, data: Prepared, counts: dict[str, int]) -> dict[str, Any]:
    """Seconds of both ways, and on how many edges they agree."""
    model, method = result.learned, result.method
    assert isinstance(method, Oocdm) and isinstance(model, OocdmModel)
    structure = model.structure(result.graph)
    is_tested = model.edges.testable(counts)
    tested = model.layout.structure(is_tested, paths=False)
    resolution = model.resolution(method.schedule.resolution)
    search = Search(data, tested, method.rule, method.path_threshold, resolution=resolution)

    def decide(gains: Gains) -> np.ndarray:
        edges = gains.first(len(is_tested))
        found = method.rule.is_found(edges, is_tested)
        return method.rule.evidence(model.edges, edges, found, is_tested).decision

    ours, seconds = _timed(lambda: search.gains(model, structure, tested), repeats=3)
    theirs, literal_seconds = _timed(
        lambda: literal_gains(model, data, structure, tested, resolution), repeats=1
    )
    fast, literal = decide(ours), decide(theirs)
    edges = np.array(model.edges.names)
    return {
        "edges": int(is_tested.sum()),
        "fast_seconds": seconds,
        "reference_seconds": literal_seconds,
        "ratio": literal_seconds / seconds,
        "same_decisions": int((fast == literal)[is_tested].sum()),
        "different": {
            edges[i]: [str(fast[i]), str(literal[i])] for i in np.flatnonzero(fast != literal)
        },
        "largest_difference_of_gains": float(np.abs(ours.mean - theirs.mean)[tested.flags].max()),
    }


def _timed(work: Callable[[], Gains], repeats: int) -> tuple[Gains, float]:
    """What the work gives and its median seconds, after one warm-up if repeated."""
    if repeats > 1:
        work()
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        gains = work()
        seconds.append(time.perf_counter() - started)
    return gains, float(np.median(seconds))
