"""Logs of other people's simulators: are fits what their code does?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from oocdm.bench.highway import log_highway, make_highway
from oocdm.bench.highway_reads import common_edges, read_places
from oocdm.bench.highway_replay import brake_effects
from oocdm.bench.machine import describe_machine
from oocdm.bench.results import recall_all
from oocdm.bench.rollout_errors import rollout_errors
from oocdm.errors import OocdmError, suggest
from oocdm.training import fit

ENVS = ("highway",)
STEPS, TEST_STEPS = 8_000, 2_000
LEARNED, TESTED = 0, 1  # seeds of the logs; those of cells are of fits
CASES = 60  # braked cars, at most

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
    if env not in ENVS:
        raise OocdmError(f"bench logs: no simulator `{env}`. {suggest(env, ENVS)}")
    make_highway().close()  # which says so if it is not installed
    measures = {f"{env}-seed{seed}": partial(_run_fit, env, seed) for seed in seeds}
    cells = recall_all(results_folder, measures, jobs, progress)
    return {"cells": with_agreement(cells)}


def _run_fit(env: str, seed: int) -> dict[str, Any]:
    data, test = log_highway(STEPS, LEARNED), log_highway(TEST_STEPS, TESTED)
    started = time.process_time()
    result = fit(data, seed=seed)
    processor_seconds = time.process_time() - started
    graph = [str(edge) for edge in result.class_graph.edges()]
    listed, common = read_places(), common_edges()
    return {
        "env": env,
        "seed": seed,
        "graph": graph,
        "evidence": result.evidence.rows(),
        "common": len(common),
        "missed": [edge for edge in common if edge not in graph],
        "rare_found": [edge for edge in graph if edge in listed and edge not in common],
        "unlisted": [edge for edge in graph if edge not in listed],
        "rollouts": rollout_errors(result, test),
        "brakes": brake_effects(result, test, CASES),
        "settled": result.settled,
        "seconds": result.seconds,
        "processor_seconds": processor_seconds,
        "command": f"oocdm bench logs --env {env} --seeds {seed}",
        **describe_machine(),
    }


def with_agreement(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cells with the least agreement of their graph with those of other seeds, if there are some.

    >>> cells = [{"graph": ["a", "b"]}, {"graph": ["b", "c"]}]
    >>> [round(cell["jaccard"], 2) for cell in with_agreement(cells)]
    [0.33, 0.33]
    """
    graphs = [set(cell["graph"]) for cell in cells]
    found = []
    for i, cell in enumerate(cells):
        others = [graph for j, graph in enumerate(graphs) if j != i]
        agreements = [len(graphs[i] & g) / max(len(graphs[i] | g), 1) for g in others]
        found.append({**cell, "jaccard": min(agreements, default=None)})
    return found
