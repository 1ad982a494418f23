"""Logs of other people's simulators: are fits what their code does?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from oocdm.bench.machine import describe_machine
from oocdm.bench.results import recall_all
from oocdm.bench.rollout_errors import rollout_errors
from oocdm.bench.simulators.highway import HIGHWAY
from oocdm.bench.simulators.mpe import MPE
from oocdm.bench.simulators.replay import slowed_by
from oocdm.bench.simulators.simulator import log_steps
from oocdm.errors import OocdmError, suggest
from oocdm.training import fit

SIMULATORS = {simulator.name: simulator for simulator in (HIGHWAY, MPE)}
STEPS, TEST_STEPS = 8_000, 2_000
LEARNED, TESTED = 0, 1  # seeds of the logs; those of cells are of fits
CASES = 60  # in which something is set otherwise, at most

Tell = Callable[[int, int], None]  # fits done, of how many


def run_logs(
    env: str,
    seeds: Sequence[int],
    results_folder: str | Path | None = None,
    jobs: int = 1,
    progress: Tell = lambda done, total: None,
) -> dict[str, Any]:
    """Fit one log of a simulator with several seeds, and compare with what it reads and does.

    With a results folder each finished fit is written there, and fits that are there already are
    read instead of run again.
    """
    if env not in SIMULATORS:
        raise OocdmError(f"bench logs: no simulator `{env}`. {suggest(env, SIMULATORS)}")
    SIMULATORS[env].make(None).close()  # which says so if it is not installed
    measures = {f"{env}-seed{seed}": partial(_run_fit, env, seed) for seed in seeds}
    cells = recall_all(results_folder, measures, jobs, progress)
    return {"cells": with_agreement(cells)}


def _run_fit(env: str, seed: int) -> dict[str, Any]:
    simulator = SIMULATORS[env]
    data = log_steps(simulator, STEPS, LEARNED)
    test = log_steps(simulator, TEST_STEPS, TESTED)
    started = time.process_time()
    result = fit(data, seed=seed)
    processor_seconds = time.process_time() - started
    graph = [str(edge) for edge in result.class_graph.edges()]
    listed, common = simulator.places(), simulator.common()
    return {
        "env": env,
        "package": f"{simulator.package} {version(simulator.package)}",
        "seed": seed,
        "graph": graph,
        "evidence": result.evidence.rows(),
        "common": len(common),
        "missed": [edge for edge in common if edge not in graph],
        "rare_found": [edge for edge in graph if edge in listed and edge not in common],
        "unlisted": [edge for edge in graph if edge not in listed],
        "rollouts": rollout_errors(result, test),
        "slowed": slowed_by(simulator, result, test, CASES),
        "settled": result.settled,
        "seconds": result.seconds,
        "processor_seconds": processor_seconds,
        "command": f"oocdm bench logs --env {env} --seeds {seed}",
        **describe_machine(),
    }


def with_agreement(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cells with the least agreement of their graph with a simulator's other ones, if there are.

    >>> cells = [{"env": "highway", "graph": ["a", "b"]}, {"env": "highway", "graph": ["b", "c"]}]
    >>> [round(cell["jaccard"], 2) for cell in with_agreement(cells)]
    [0.33, 0.33]
    """
    found = []
    for i, cell in enumerate(cells):
        graph = set(cell["graph"])
        others = [
            set(other["graph"])
            for j, other in enumerate(cells)
            if j != i and other["env"] == cell["env"]
        ]
        agreements = [len(graph & other) / max(len(graph | other), 1) for other in others]
        found.append({**cell, "jaccard": min(agreements, default=None)})
    return found
