"""Speed of the fast implementation against the reference, in one process, as ratios."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from oocdm.bench.cells import experiment
from oocdm.bench.literal import literal_gains
from oocdm.bench.machine import describe_machine
from oocdm.data import Dataset, Snapshot
from oocdm.discovery import element_gains
from oocdm.envs import make
from oocdm.errors import OocdmError
from oocdm.files import write_json
from oocdm.graph import ClassGraph, Structure
from oocdm.models.allocator import keep_freed_memory
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.predictor import LATE
from oocdm.models.prepared import Prepared, known_counts, mean_scores
from oocdm.models.scales import Scales
from oocdm.models.world_model import AbstractPredictor
from oocdm.worlds import collect

BATCH = 512
RANDOM_GRAPHS = 32  # different random graphs a batch of the fast path
DISCOVERY_STEPS = 10_000
EDGE_PROBABILITY = 0.9
GROWTH = (5, 10, 20, 50, 100, 200)

MEMORY_STEPS = 1024  # transitions of which memory is measured: all chunks need the same

Tell = Callable[[str], None]
Task = Callable[[], Any]


def run_speed(
    envs: list[str] | None = None,
    repeats: int = 5,
    results_folder: str | Path | None = None,
    progress: Tell | None = None,
) -> dict[str, Any]:
    """Measure training, discovery and prediction of both implementations, and growth.

    Training scores each of 512 samples under a random graph, the full graph and the true graph
    and takes one gradient; discovery scores all edges on 10,000 transitions; prediction decodes
    512 samples under the true graph, with weights that stay as they are. Memory is measured in
    processes of their own.
    """
    for env in envs or ():
        if experiment(env).make("released").true_graph is None:
            raise OocdmError(f"bench speed: expected a world whose graph is known, got `{env}`.")
    tell = progress or (lambda text: None)
    keep_freed_memory()
    rows = []
    for env in envs or ["block5", "block10", "mouse"]:
        for preset in ("paper", "default"):
            tell(f"{env}, preset {preset}")
            rows.append({"env": env, "preset": preset, **_compare(env, preset, repeats)})
    tell("growth from 5 to 200 blocks")
    results = {
        "rows": rows,
        "growth": [_grow(n, preset) for preset in ("paper", "default") for n in GROWTH],
        "command": "oocdm bench speed",
        "batch": BATCH,
        "random_graphs": RANDOM_GRAPHS,
        "repeats": repeats,
        **describe_machine(),
    }
    if results_folder is not None:
        write_json(Path(results_folder) / "speed.json", results)
    return results


def _compare(env: str, preset: str, repeats: int) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name, (quick, literal) in _tasks(env, preset, DISCOVERY_STEPS).items():
        is_long = name == "discovery"
        ours, theirs = (
            _measure(quick, 3 if is_long else repeats),
            _measure(literal, 1 if is_long else repeats),
        )
        figures[name] = {
            "fast_ms": 1e3 * ours,
            "reference_ms": 1e3 * theirs,
            "ratio": theirs / ours,
            "fast_peak_mb": _peak_memory(env, preset, name, 0),
            "reference_peak_mb": _peak_memory(env, preset, name, 1),
        }
    return figures


def _tasks(env: str, preset: str, steps: int) -> dict[str, tuple[Task, Task]]:
    """What is measured, by the fast implementation and by the reference."""
    world = experiment(env).make("released")
    graph = world.true_graph
    assert graph is not None  # checked before anything was measured
    data = collect(world, steps, seed=0)
    fast, reference = _pair(data, preset)
    batch = Prepared.of(fast, data, np.arange(BATCH))
    everything = Prepared.of(fast, data)
    testable = _edges(fast, data)
    # Weights stay while predicting, so what depends on them alone is made once.
    predict, predict_literally = (m.compile_for(graph) for m in (fast, reference))
    states = data.transitions(np.arange(BATCH)).before
    return {
        "training": (
            lambda: _train(fast, batch, graph, RANDOM_GRAPHS),
            lambda: _train(reference, batch, graph, BATCH),
        ),
        "prediction": (
            lambda: _predict(predict, states),
            lambda: _predict(predict_literally, states),
        ),
        "discovery": (
            lambda: element_gains(fast, everything, _full(fast), None, testable),
            lambda: literal_gains(reference, everything, _full(fast), testable),
        ),
    }


def _pair(data: Dataset, preset: str) -> tuple[OocdmModel, OocdmModel]:
    """Both implementations with equal weights."""
    transitions = data.transitions()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        options = ModelOptions.preset(preset)
        fast = OocdmModel(data.schema, options, Scales.measure(transitions))
    fast.measure(transitions)
    return fast, fast.literal()


def _full(model: OocdmModel) -> Structure:
    return model.layout.structure(True) - model.layout.ways(LATE)


def _edges(model: OocdmModel, data: Dataset) -> Structure:
    """The parts to test: all edges that can occur, no paths."""
    return model.layout.structure(model.edges.testable(data.max_counts), paths=False)


def _train(model: OocdmModel, batch: Prepared, graph: ClassGraph, num_graphs: int) -> None:
    rng = np.random.default_rng(0)
    schema = model.schema
    graphs = [ClassGraph.random(schema, EDGE_PROBABILITY, rng) for _ in range(num_graphs)]
    structures = [
        model.structures(*graphs),
        model.structures(ClassGraph.full(schema)),
        model.structures(graph),
    ]
    model.zero_grad(set_to_none=True)
    loss = torch.zeros(())
    for predictions in model(batch.inputs, *structures):
        scores = predictions.log_prob(batch.targets)
        loss = loss - mean_scores(scores, known_counts(batch.targets)).sum()
    loss.backward()


@torch.no_grad()
def _predict(predict: AbstractPredictor, states: Snapshot) -> None:
    predict(states)


def _measure(work: Task, repeats: int) -> float:
    """Median seconds, after one warm-up if repeated."""
    if repeats > 1:
        work()
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds))


def _peak_memory(env: str, preset: str, task: str, implementation: int) -> float | None:
    """MB above the start that a task needs, in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak_memory_here, (env, preset, task, implementation))


def _peak_memory_here(env: str, preset: str, task: str, implementation: int) -> float | None:
    torch.set_num_threads(1)
    work = _tasks(env, preset, MEMORY_STEPS)[task][implementation]
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    try:
        reset.write_text("5")  # starts a new peak
        before = _status(status, "VmRSS")
        work()
        return max(_status(status, "VmHWM") - before, 0.0)
    except OSError:
        return None  # the system does not tell


def _status(status: Path, name: str) -> float:
    line = next(line for line in status.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024


def _grow(num_blocks: int, preset: str) -> dict[str, Any]:
    """Milliseconds a sample of the fast path as blocks grow."""
    world = make("block", num_blocks=num_blocks, variant="released")
    assert world.true_graph is not None
    batch_size = max(32, BATCH * 5 // num_blocks // 32 * 32)
    data = collect(world, batch_size, seed=0)
    fast, _ = _pair(data, preset)
    batch = Prepared.of(fast, data)
    graph = world.true_graph
    predict, states = fast.compile_for(graph), data.transitions().before
    training = _measure(lambda: _train(fast, batch, graph, RANDOM_GRAPHS), 3)
    prediction = _measure(lambda: _predict(predict, states), 3)
    discovery = _measure(
        lambda: element_gains(fast, batch, _full(fast), None, _edges(fast, data)), 3
    )
    return {
        "blocks": num_blocks,
        "preset": preset,
        "batch": batch_size,
        "training_ms_a_sample": 1e3 * training / batch_size,
        "prediction_ms_a_sample": 1e3 * prediction / batch_size,
        "discovery_ms_a_sample": 1e3 * discovery / batch_size,
    }
