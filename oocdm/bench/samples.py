"""How much data does discovery need? Wrong edges against the number of transitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from oocdm.bench.cells import experiment
from oocdm.bench.machine import describe_machine
from oocdm.bench.results import Result, recall
from oocdm.errors import OocdmError, suggest
from oocdm.methods import Schedule
from oocdm.training import Progress, fit
from oocdm.worlds import collect

# Environments with their numbers of transitions and seeds.
SIZES: dict[str, tuple[Sequence[int], Sequence[int]]] = {
    "block5": ((500, 1_500, 5_000, 15_000, 50_000), (0, 1)),
    "mouse": ((5_000, 15_000, 50_000), (0,)),
}
VARIANT = "released"
THRESHOLDS = (0.03, 0.1, 0.3)  # beside automatic decisions

# Told what is being fitted, and how far that is.
Tell = Callable[[str, Progress], None]


def run_samples(
    envs: Sequence[str] | None = None,
    results_folder: str | Path | None = None,
    progress: Tell | None = None,
) -> dict[str, Any]:
    """Fit datasets of growing size and count the wrong edges of each rule.

    Only the graph is learned: models are not polished. With a results folder each finished fit
    is written there, and those that are there already are read instead of run again.
    """
    rows = []
    for env in envs or SIZES:
        if env not in SIZES:
            raise OocdmError(f"bench samples: no sizes for `{env}`. {suggest(env, SIZES)}")
        sizes, seeds = SIZES[env]
        for size in sizes:
            for seed in seeds:
                measure = partial(_run_size, env, size, seed, progress)
                rows.append(recall(results_folder, f"{env}-{size}-seed{seed}", measure))
    return {"rows": rows}


def _run_size(env: str, size: int, seed: int, progress: Tell | None) -> Result:
    def tell(state: Progress) -> None:
        if progress is not None:
            progress(f"{env}, {size:,} transitions, seed {seed}", state)

    chosen = experiment(env)
    world = chosen.make(VARIANT)
    true = world.true_graph
    assert true is not None
    data = collect(world, size, seed=seed)
    graph_only = replace(Schedule(), polish_steps=0)
    options = chosen.fit_options("oocdm", "default")
    result = fit(data, seed=seed, schedule=graph_only, callback=tell, **options)
    testable = true.space.testable(chosen.counts)
    score = np.nan_to_num(result.evidence.score)
    found = {"automatic": result.class_graph.mask}
    found |= {str(threshold): score > threshold for threshold in THRESHOLDS}
    return {
        "env": env,
        "transitions": size,
        "seed": seed,
        "wrong": {
            name: int(((mask != true.mask) & testable).sum()) for name, mask in found.items()
        },
        "open": int((result.evidence.decision == "undecided").sum()),
        "possible": int(testable.sum()),
        "seconds": result.seconds,
        "command": f"oocdm bench samples --env {env}",
        **describe_machine(),
    }
