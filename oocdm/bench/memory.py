"""What a fit of a large world takes: the estimate beforehand, the memory, and the time."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from oocdm.bench.machine import describe_machine
from oocdm.data import Dataset
from oocdm.errors import OocdmError, suggest
from oocdm.files import write_json
from oocdm.methods import Schedule
from oocdm.models.memory import DEFAULT_MEMORY
from oocdm.schema import Categorical, Field, ObjectClass, Real, Schema
from oocdm.training import estimate_memory, fit

EPISODES, STEPS = 50, 20  # of each world
# 20 steps of learning, one discovery, 20 steps of polishing; batches are those of every fit.
SCHEDULE = Schedule(iterations=1, steps_per_iteration=20, polish_steps=20)

# Fields of the one class of each world, and how many objects it has.
WORLDS: dict[str, tuple[dict[str, Field], int]] = {
    "objects": ({"x": Real(), "v": Real(), "push": Real(action=True)}, 1000),
    "fields": ({f"x{i}": Real() for i in range(100)}, 3),
    "categories": ({"word": Categorical(5000), "x": Real()}, 3),
    # Nothing in the estimate was chosen while looking at these.
    "objects and fields": ({f"x{i}": Real() for i in range(10)}, 300),
    "40 fields": ({f"x{i}": Real() for i in range(40)}, 3),
    "1000 categories": ({"word": Categorical(1000), "x": Real()}, 3),
    "mixed": (
        {"word": Categorical(300), "other": Categorical(20), **{f"x{i}": Real() for i in range(5)}},
        60,
    ),
}


def run_memory(
    worlds: list[str] | None = None,
    results_folder: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Fit large worlds, each in a process of its own, on one core and within the default memory."""
    rows = []
    for name in worlds or list(WORLDS):
        if name not in WORLDS:
            raise OocdmError(f"bench memory: unknown world `{name}`. {suggest(name, WORLDS)}")
        if progress is not None:
            progress(name)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            rows.append({"world": name, **pool.apply(measure_fit, (name,))})
    results = {
        "rows": rows,
        "memory": DEFAULT_MEMORY,
        "command": "oocdm bench memory",
        **describe_machine(),
        "threads": 1,
    }
    if results_folder is not None:
        write_json(Path(results_folder) / "memory.json", results)
    return results


def measure_fit(name: str) -> dict[str, Any]:
    """Fit one world in this process: bytes estimated and used above those before, and seconds."""
    torch.set_num_threads(1)
    data = make_data(name)
    started = time.perf_counter()
    peak = peak_above(lambda: fit(data, schedule=SCHEDULE))
    seconds = time.perf_counter() - started
    estimate = estimate_memory(data, schedule=SCHEDULE)  # afterwards: it leaves memory behind
    return {
        "transitions": len(data),
        "objects": WORLDS[name][1],
        "estimate": estimate.total,
        "phases": dict(estimate.working),
        "peak": peak,
        "seconds": seconds,
    }


def make_data(name: str, episodes: int = EPISODES, steps: int = STEPS) -> Dataset:
    """Episodes in which every number drifts, and every category stays or is drawn anew."""
    fields, objects = WORLDS[name]
    schema, rng = Schema(type("Thing", (ObjectClass,), dict(fields))), np.random.default_rng(0)
    shape = (episodes, steps, objects)
    columns = {
        name: np.broadcast_to(numbers, shape).ravel()
        for name, numbers in zip(
            ("episode", "step", "object"), np.ogrid[*map(slice, shape)], strict=True
        )
    }
    for f, field in fields.items():
        if isinstance(field, Categorical):
            codes, changes = rng.integers(field.num_codes, size=shape), rng.random(shape) < 0.1
            changes[:, 0] = True
            last = np.maximum.accumulate(np.where(changes, np.arange(steps)[:, None], 0), axis=1)
            columns[f] = np.take_along_axis(codes, last, axis=1).ravel()
        else:
            drawn = rng.normal(size=shape)
            columns[f] = (drawn if field.action else drawn.cumsum(1)).ravel()
    return Dataset.from_frames({"Thing": pd.DataFrame(columns)}, schema)


def peak_above(work: Callable[[], object]) -> int | None:
    """Bytes at most that were resident during some work, above those before; None if nobody tells.

    >>> import sys
    >>> (peak_above(lambda: None) is not None) == sys.platform.startswith("linux")
    True
    """
    before = _start_peak()
    work()
    return None if before is None else _status("VmHWM") - before


def _status(name: str) -> int:
    """A figure of this process in bytes, as Linux tells it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])


def _start_peak() -> int | None:
    """Start a new peak of resident memory, and tell what is resident; None if nobody tells."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return None
