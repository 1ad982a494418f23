"""Fitted models of Mouse, made once for all benchmarks that act with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from oocdm.bench.cells import experiment
from oocdm.data import Dataset
from oocdm.envs import make
from oocdm.training import FitResult, Progress, fit, resume
from oocdm.worlds import collect
from oocdm.worlds.world import AbstractWorld

TRAIN_STEPS = 50_000
OPTIONS: dict[str, Any] = {"variant": "released"}

# Told what is being done, how much of it is done, and of how much.
Tell = Callable[[str, int, int], None]


def mouse_world(options: dict[str, Any]) -> AbstractWorld:
    """Mouse as the benchmarks use it, with options of their own."""
    return make("mouse", **OPTIONS, **options).world


def training_data(options: dict[str, Any], seed: int) -> Dataset:
    """What models of such a world are fitted to."""
    return collect(mouse_world(options), TRAIN_STEPS, seed=seed)


def fitted_mouse(
    method: str,
    seed: int,
    options: dict[str, Any],
    name: str,
    folder: str | Path | None,
    tell: Tell | None,
) -> FitResult:
    """A model of a world, fitted once for all cells that use it."""
    title = f"{name}, {method}, seed {seed}"

    def show(state: Progress) -> None:
        if tell is not None:
            tell(f"{title}: {state.phase}", state.step, state.total)

    run = None if folder is None else Path(folder) / "runs" / f"{name}-{method}-seed{seed}"
    data = training_data(options, seed)
    if run is not None and (run / "config.json").is_file():
        return resume(run, data, show)
    own = experiment("mouse").fit_options(method, "default")
    return fit(data, method, seed, folder=run, callback=show, **own)
