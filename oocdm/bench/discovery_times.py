"""How long methods take to discover a graph, and how that grows with the number of objects."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from oocdm.bench.machine import describe_machine
from oocdm.bench.mouse import Tell
from oocdm.bench.results import Result, recall
from oocdm.data import Dataset
from oocdm.discovery.independence.variable_tests import VariableTests
from oocdm.envs import make
from oocdm.errors import OocdmError
from oocdm.graph import VariableEdges
from oocdm.graph.variable import variable_names
from oocdm.methods import Inquiry, make_method, method_class
from oocdm.methods.grader import Grader
from oocdm.training import Trainer
from oocdm.worlds import collect

# Those that have a phase of discovery.
METHODS = ("oocdm", "cdl", "cdl-a", "grader")
BLOCKS = (2, 3, 5, 8, 12, 20)
GROWTH_SAMPLES = 2_000  # CDL-A with 20 blocks would take an hour with 10,000
GRADER_GROWTH_SAMPLES = 500
MOST_TESTS = 200  # of which the time of all is reckoned; they differ little
SEED = 0


def run_discovery_growth(
    folder: str | Path | None = None,
    tell: Tell | None = None,
    methods: Sequence[str] = METHODS,
    blocks: Sequence[int] = BLOCKS,
) -> dict[str, Any]:
    """The time of one discovery by each method for more and more blocks."""
    check_timed(methods)
    jobs = [(method, number) for number in blocks for method in methods]
    rows = []
    for done, (method, number) in enumerate(jobs):
        if tell is not None:
            tell(f"{method}, {number} blocks", done, len(jobs))
        samples = GRADER_GROWTH_SAMPLES if method == "grader" else GROWTH_SAMPLES
        measure = partial(_growth_cell, method, number, samples)
        rows.append(recall(folder, f"discovery-{number}blocks-{method}", measure))
    return {"rows": rows}


def check_timed(methods: Iterable[str]) -> None:
    """Raise an `OocdmError` if one of the methods has no discovery whose time could be measured.

    >>> check_timed(["oocdm", "grader"])
    """
    for method in methods:
        method_class(method)
        if method not in METHODS:
            raise OocdmError(
                f"Times of discovery: expected one of {', '.join(METHODS)}, got `{method}`. "
                "Leave it out: only those have a phase of discovery that can be timed."
            )


def _growth_cell(method: str, num_blocks: int, samples: int) -> Result:
    data = collect(make("block", num_blocks=num_blocks, variant="released"), samples, seed=SEED)
    command = f"oocdm bench discovery --method {method} --blocks {num_blocks}"
    return {"blocks": num_blocks, **discovery_time(method, data, command)}


def discovery_time(method: str, data: Dataset, command: str) -> Result:
    """Seconds of one discovery on all transitions of a dataset, with an untrained network.

    The paper's rule for `oocdm`: each edge left out of the full graph. Training changes what is
    found, not the work that is done. `command` is what the user ran.
    """
    check_timed([method])
    measure = _time_tests if method == "grader" else _time_model
    inputs, _ = variable_names(data.schema, data.max_counts)
    return {
        "method": method,
        "variables": len(inputs),
        "samples": len(data),
        **measure(method, data),
        "command": command,
        **describe_machine(),
    }


def _time_model(method: str, data: Dataset) -> dict[str, Any]:
    chosen = make_method(method, "paper")
    trainer = Trainer(data, chosen, SEED)
    started = time.perf_counter()
    structure = trainer.position.structure
    chosen.discover(Inquiry(trainer.model, trainer.held_out, structure, trainer.free))
    return {"seconds": time.perf_counter() - started, "tests": None}


def _time_tests(method: str, data: Dataset) -> dict[str, Any]:
    edges = VariableEdges(data.schema, data.max_counts)
    chosen = make_method(method)
    assert isinstance(chosen, Grader)
    # All tests of some outputs, which share work.
    is_asked = np.zeros_like(edges.full.matrix)
    num_inputs, num_outputs = is_asked.shape
    chosen_outputs = np.random.default_rng(SEED).permutation(num_outputs)
    is_asked[:, chosen_outputs[: max(MOST_TESTS // num_inputs, 1)]] = True
    free = is_asked.ravel()
    tests = VariableTests(data, edges, chosen.alpha, len(data), SEED)
    tests.test.load()
    started = time.perf_counter()
    tests.discover(free)
    seconds = time.perf_counter() - started
    return {"seconds": seconds * len(edges) / int(free.sum()), "tests": int(free.sum())}
