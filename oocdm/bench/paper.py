"""The paper's tables: graph accuracy and AILL of every environment, method and seed."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from oocdm.bench.cells import VARIANT, Experiment, experiment
from oocdm.bench.discovery_times import check_timed, discovery_time
from oocdm.bench.machine import describe_machine
from oocdm.bench.mouse import Tell
from oocdm.bench.results import recall, recall_all
from oocdm.data import Dataset
from oocdm.errors import FileError, OocdmError
from oocdm.files.reading import read_json
from oocdm.graph import Graph, VariableEdges
from oocdm.inference import evaluate
from oocdm.methods import make_method
from oocdm.training import FitResult, Progress, fit
from oocdm.worlds.world import AbstractWorld

TEST_STEPS = 100_000
GRADER_SAMPLES = 1_000  # 10,000 take hours
TIMED_SEED = 0

BLOCKS = ["block2", "block5", "block10", "block5-noisy"]
# The cells of the table of graphs: environments, variant, seeds.
GRAPHS = [
    (BLOCKS, "released", [0, 1, 2, 3, 4]),
    (BLOCKS, "paper", [0]),
    (["mouse"], "released", [0, 1]),
]

# Told which cell is running, and how far its fit is.
CellProgress = Callable[[str, Progress], None]


def run_paper(
    envs: list[str],
    methods: list[str],
    seeds: list[int],
    preset: str = "default",
    results_folder: str | Path | None = None,
    minutes: float | None = None,
    progress: CellProgress | None = None,
    variant: str = VARIANT,
    jobs: int = 1,
) -> dict[str, Any]:
    """Run cells and return {"cells": [...], "summary": ...}.

    With a results folder each finished cell is written there, and cells that are there already
    are read instead of run again. Whatever is wrong with the request is told before any cell runs.
    With several `jobs` so many cells run side by side, and progress counts finished cells.
    """
    cells = {
        f"{env}-{method}-{preset}-{variant}-seed{seed}": (env, method, seed)
        for env in envs
        for method in methods
        for seed in seeds
    }
    for env in envs:
        experiment(env).check(variant)
    for name, (env, method, _) in cells.items():
        make_method(method, preset, **experiment(env).fit_options(method, preset))
        if results_folder is not None:
            _check_minutes(Path(results_folder) / f"{name}.json", minutes)

    def count(done: int, total: int) -> None:
        if progress is not None:
            progress("", Progress("Cells", done, total, {}))

    shown = progress if jobs == 1 else None
    measures = {
        name: partial(_run_cell, *cell, preset, variant, minutes, name, shown)
        for name, cell in cells.items()
    }
    found = recall_all(results_folder, measures, jobs, count)
    return {"cells": found, "summary": _summarise(found)}


def _check_minutes(path: Path, minutes: float | None) -> None:
    """Raise an `OocdmError` if there is a cell that had more or less time."""
    if not path.is_file():
        return
    had = read_json(path, FileError).get("minutes_allowed")
    if had != minutes:
        raise OocdmError(
            f"`{path}`: expected a cell of {_time(minutes)}, got one of {_time(had)}. "
            "Choose another folder, or remove the file."
        )


def _time(minutes: float | None) -> str:
    return "unlimited time" if minutes is None else f"{minutes:g} minutes"


def run_times(
    envs: list[str],
    methods: list[str],
    results_folder: str | Path | None = None,
    tell: Tell | None = None,
) -> dict[str, Any]:
    """The table of discovery times; GRADER on 1,000 transitions, the others on all."""
    check_timed(methods)
    for env in envs:
        experiment(env).check(VARIANT)
    cells: list[dict[str, Any]] = []
    for env in envs:
        for method in methods:
            if tell is not None:
                tell(f"{env}, {method}", len(cells), len(envs) * len(methods))
            measure = partial(_time_cell, env, method)
            found = recall(results_folder, f"time-{env}-{method}", measure)
            cells.append({**found, "env": env, "discovery_seconds": found["seconds"]})
    return {"cells": cells}


def _time_cell(env: str, method: str) -> dict[str, Any]:
    data = experiment(env).training_data(VARIANT, TIMED_SEED)
    if method == "grader":
        data = data.head(GRADER_SAMPLES)
    command = f"oocdm bench paper --table time --env {env} --method {method}"
    return discovery_time(method, data, command)


def run_graphs(
    results_folder: str | Path | None = None,
    progress: CellProgress | None = None,
    jobs: int = 1,
) -> dict[str, Any]:
    """The table of graphs: automatic decisions, with no setting for any environment."""
    cells = []
    for envs, variant, seeds in GRAPHS:
        found = run_paper(
            envs, ["oocdm"], seeds, "default", results_folder, None, progress, variant, jobs
        )
        cells += found["cells"]
    return {"cells": cells, "summary": _summarise(cells)}


def _run_cell(
    env: str,
    method: str,
    seed: int,
    preset: str,
    variant: str,
    minutes: float | None,
    name: str,
    progress: CellProgress | None,
) -> dict[str, Any]:
    def tell(state: Progress) -> None:
        if progress is not None:
            progress(name, state)

    chosen = experiment(env)
    data = chosen.training_data(variant, seed, partial(_tell_collected, "training data", tell))
    options = chosen.fit_options(method, preset)
    seconds = None if minutes is None else 60 * minutes
    started = time.process_time()
    result = fit(data, method, seed, preset=preset, callback=tell, max_seconds=seconds, **options)
    processor_seconds = time.process_time() - started
    cell = {
        "env": env,
        "method": method,
        "preset": preset,
        "variant": variant,
        "seed": seed,
        **_graph_figures(result, chosen, chosen.make(variant).world),
        **_aill_figures(result, chosen, variant, data, seed, tell),
        "bytes": sum(p.numel() * p.element_size() for p in result.model.parameters()),
        "seconds": result.seconds,
        "processor_seconds": processor_seconds,
        "minutes_allowed": minutes,
        "ran_out": result.ran_out,
        "steps": _steps(result),
        "command": f"oocdm bench paper --env {env} --method {method} --seeds {seed}"
        + (f" --variant {variant}" if variant != VARIANT else "")
        + (f" --preset {preset}" if preset != "default" else "")
        + (f" --minutes {minutes:g}" if minutes is not None else ""),
        **describe_machine(),
    }
    return cell


def _tell_collected(
    what: str, tell: Callable[[Progress], None], collected: int, steps: int
) -> None:
    tell(Progress(f"Collecting {what}", collected, steps, {}))


def _graph_figures(result: FitResult, chosen: Experiment, world: AbstractWorld) -> dict[str, Any]:
    """How the graph differs from the true one; where that is unknown, the graph itself."""
    edges, evidence, counts = result.model.edges, result.evidence, chosen.counts
    level = "variable" if isinstance(edges, VariableEdges) else "class"
    testable, names = edges.testable(counts), np.array(edges.names)
    figures: dict[str, Any] = {
        f"testable_{level}_edges": int(testable.sum()),
        f"open_{level}_edges": names[evidence.decision == "undecided"].tolist(),
    }
    found = edges.mask(result.graph) & testable
    true: Graph | None = world.true_graph
    if true is None:
        return figures | {"graph_accuracy": None, f"{level}_edges": names[found].tolist()}
    if level == "variable" and world.true_variable_graph is not None:
        true = world.true_variable_graph
    is_true, score = edges.mask(true), evidence.score
    known = testable & ~np.isnan(score)
    return figures | {
        "graph_accuracy": result.graph.compare(true, counts).accuracy,
        f"wrong_{level}_edges": names[(found != is_true) & testable].tolist(),
        "roc_auc": _or_none(evidence.roc_auc(true)),
        "smallest_true_score": _or_none(_extreme(np.min, score[is_true & known])),
        "largest_absent_score": _or_none(_extreme(np.max, score[~is_true & known])),
    }


def _extreme(choose: Callable[[np.ndarray], float], scores: np.ndarray) -> float:
    return choose(scores) if len(scores) else np.nan


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _aill_figures(
    result: FitResult,
    chosen: Experiment,
    variant: str,
    data: Dataset,
    seed: int,
    tell: Callable[[Progress], None],
) -> dict[str, Any]:
    figures: dict[str, Any] = {"aill_train": evaluate(result, data).aill}
    for kind, is_ood in (("id", False), ("ood", True)):
        shown = partial(_tell_collected, f"test data {kind}", tell)
        test = chosen.test_data(variant, TEST_STEPS, seed, is_ood, shown)
        report = evaluate(result, test)
        figures[f"aill_{kind}"] = report.aill
        figures[f"fields_{kind}"] = {
            name: field.log_likelihood for name, field in report.fields.items()
        }
    return figures


def _steps(result: FitResult) -> dict[str, int]:
    steps: dict[str, int] = {}
    for entry in result.history:
        steps[entry["phase"]] = entry["step"]
    return steps


def _spread(values: list[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _summarise(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and standard deviation over seeds of each environment, method and preset."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        key = f"{cell['env']} {cell['method']} {cell['preset']}"
        key += f" {cell['variant']}" if cell["variant"] != VARIANT else ""
        groups.setdefault(key, []).append(cell)
    names = ("graph_accuracy", "aill_train", "aill_id", "aill_ood", "seconds")
    return {
        key: {name: _over_seeds(name, [cell[name] for cell in group]) for name in names}
        for key, group in groups.items()
    }


def _over_seeds(name: str, found: list[float | None]) -> dict[str, float | None] | None:
    """None where the truth is unknown."""
    values = [value for value in found if value is not None]
    if not values:
        return None
    worst = max(values) if name == "seconds" else min(values)
    return {"mean": float(np.mean(values)), "std": _spread(values), "worst": float(worst)}
