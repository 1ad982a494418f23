"""Are decisions as sure as they say? Discovery on many generated worlds with known graphs."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from oocdm.bench.cells import raw_sigma_floor
from oocdm.bench.machine import describe_machine
from oocdm.bench.results import recall
from oocdm.envs import make
from oocdm.envs.generated import GeneratedWorld
from oocdm.graph import ClassEdges, ClassGraph
from oocdm.methods import Schedule
from oocdm.training import fit
from oocdm.worlds import collect

# Small worlds are learned in fewer and larger steps, with the floor of sigma that the paper has;
# nothing else differs from the defaults. A fixed number of steps, not of seconds: the results do
# not depend on the machine.
SCHEDULE = Schedule(
    iterations=6,
    steps_per_iteration=130,
    polish_steps=0,
    patience=6,
    batch_size=256,
    learning_rate=4e-3,
)
THRESHOLDS = (0.03, 0.1, 0.3)
STEPS = 10_000

Tell = Callable[[int, int], None]  # worlds done, of how many


def run_calibration(
    worlds: int = 200,
    results_folder: str | Path | None = None,
    progress: Tell | None = None,
    first_seed: int = 0,
) -> dict[str, Any]:
    """Fit generated worlds, one for each seed, and tell how many of the edges found are wrong.

    With a results folder each finished world is written there, and worlds that are there
    already are read instead of run again.
    """
    rows = []
    for done, seed in enumerate(range(first_seed, first_seed + worlds), start=1):
        rows.append(recall(results_folder, f"world{seed:03d}", partial(_run_world, seed)))
        if progress is not None:
            progress(done, worlds)
    return {"worlds": rows, "summary": summarise_all(rows)}


def _run_world(seed: int) -> dict[str, Any]:
    env = make("generated", world_seed=seed)
    world = env.world
    assert isinstance(world, GeneratedWorld) and world.true_graph is not None
    data = collect(env, STEPS, seed=seed)
    started = time.process_time()
    result = fit(data, seed=seed, schedule=SCHEDULE, **raw_sigma_floor("oocdm"))
    processor_seconds = time.process_time() - started
    testable = ClassEdges.of(data.schema).testable(data.max_counts)
    score = np.nan_to_num(result.evidence.score)
    found = {"automatic": result.class_graph}
    for threshold in THRESHOLDS:
        found[str(threshold)] = ClassGraph(data.schema, testable & (score > threshold))
    open_edges = result.evidence.decision == "undecided"
    true = world.true_graph.mask
    return {
        "world_seed": seed,
        "varying": world.varying,
        "decoys": world.decoys,
        "mechanisms": world.describe().splitlines()[1:],
        "true_edges": int((true & testable).sum()),
        "testable_edges": int(testable.sum()),
        "found": {name: _count(graph, true, testable) for name, graph in found.items()},
        "open": {"true": int((open_edges & true).sum()), "absent": int((open_edges & ~true).sum())},
        "wrong": _wrong(result.class_graph, true, testable),
        "rows": result.evidence.rows(),
        "seconds": result.seconds,
        "processor_seconds": processor_seconds,
        "command": f"oocdm bench calibration --worlds 1 --first-seed {seed}",
        **describe_machine(),
    }


def _count(graph: ClassGraph, true: np.ndarray, testable: np.ndarray) -> dict[str, int]:
    found = graph.mask & testable
    return {"true": int((found & true).sum()), "false": int((found & ~true).sum())}


def _wrong(graph: ClassGraph, true: np.ndarray, testable: np.ndarray) -> dict[str, list[str]]:
    edges = np.array(graph.space.names)
    return {
        "extra": edges[graph.mask & ~true & testable].tolist(),
        "missing": edges[~graph.mask & true & testable].tolist(),
    }


def summarise_all(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Automatic decisions and fixed thresholds side by side.

    Thresholds are applied to the scores around the graph that automatic decisions ended with.
    """
    return {rule: summarise(rows, rule) for rule in ["automatic", *map(str, THRESHOLDS)]}


def summarise(rows: list[dict[str, Any]], rule: str) -> dict[str, Any]:
    """False-discovery rate and power over worlds, each with a 95 % interval.

    The rate is the mean over worlds of the share of wrong edges among those found, as the
    control is defined; its interval is that of a mean over independent worlds.

    >>> row = {"found": {"automatic": {"true": 8, "false": 2}}, "true_edges": 10}
    >>> round(summarise([row, row], "automatic")["false_discovery_rate"], 6)
    0.2
    """
    counts = [row["found"][rule] for row in rows]
    shares = np.array([c["false"] / max(c["true"] + c["false"], 1) for c in counts])
    powers = np.array(
        [c["true"] / max(row["true_edges"], 1) for c, row in zip(counts, rows, strict=True)]
    )
    exact = [
        c["false"] == 0 and c["true"] == row["true_edges"]
        for c, row in zip(counts, rows, strict=True)
    ]
    return {
        "worlds": len(rows),
        "false_discovery_rate": float(shares.mean()),
        "false_discovery_interval": _interval(shares),
        "power": float(powers.mean()),
        "power_interval": _interval(powers),
        "exact_graphs": float(np.mean(exact)),
    }


def _interval(values: np.ndarray) -> list[float]:
    half = 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 1.0
    return [max(float(values.mean()) - half, 0.0), min(float(values.mean()) + half, 1.0)]
