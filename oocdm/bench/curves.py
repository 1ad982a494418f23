"""Curves against steps: wrong edges and AILL, as those of the authors' program were taken."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from oocdm.bench.cells import VARIANT, experiment
from oocdm.bench.figures import authors_curves
from oocdm.bench.machine import describe_machine
from oocdm.bench.results import Result
from oocdm.data import Dataset
from oocdm.errors import FileError, ModelError, OocdmError, suggest
from oocdm.files import Contents, write_json
from oocdm.files.reading import read_json
from oocdm.graph import Graph, Structure
from oocdm.inference import evaluate
from oocdm.methods import AbstractMethod, make_method
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.world_model import AbstractWorldModel
from oocdm.training import Progress
from oocdm.training.given import checksum
from oocdm.training.run import CHECKPOINT, read_checkpoint, write_checkpoint
from oocdm.training.settings import Settings
from oocdm.training.trainer import Trainer

STEPS = 6_000  # of the paper's schedule, which goes on to 50,000
EVERY = 1_000  # steps between rows
TEST_STEPS = 5_000  # transitions, in distribution and out of it

# Told which fit is running, and how far it is.
Tell = Callable[[str, Progress], None]


@dataclass(frozen=True)
class _Asked:
    """A model under one graph."""

    model: AbstractWorldModel
    graph: Graph


def run_curves(
    envs: Sequence[str],
    seeds: Sequence[int],
    preset: str = "paper",
    results_folder: str | Path | None = None,
    progress: Tell | None = None,
) -> dict[str, Any]:
    """Fit with a preset and measure what there is every thousand steps: {"cells": [...]}.

    With a results folder each curve is written there as it grows, with a checkpoint beside it until
    it is finished: what was interrupted goes on, and what is finished is read. Whatever is wrong
    with the request is told before anything runs.
    """
    for env in envs:
        if env not in authors_curves():
            raise OocdmError(
                "bench curves: expected an environment that the authors' program was run in, got "
                f"`{env}`. {suggest(env, authors_curves())}"
            )
        _method(env, preset)
    cells = []
    for env in envs:
        for seed in seeds:
            name = f"{env}-{preset}-seed{seed}"
            path = None if results_folder is None else Path(results_folder) / f"{name}.json"
            cell: Result = {} if path is None or not path.is_file() else read_json(path, FileError)
            if not cell.get("finished"):
                curve = _Curve(env, preset, seed, path, cell.get("rows", []))
                cell = curve.measure(name, progress)
            cells.append(cell)
    return {"cells": cells}


def _method(env: str, preset: str) -> AbstractMethod:
    """OOCDM as `bench paper` has it, but without what comes after its curve.

    The paper's schedule is cut short: its learning rate does not fall, so the steps are the same.
    Copies learn after all that is measured here.
    """
    method = make_method("oocdm", preset, **experiment(env).fit_options("oocdm", preset))
    schedule = replace(method.schedule, copies=0)
    if preset == "paper":
        iterations = STEPS // schedule.steps_per_iteration
        schedule = replace(schedule, iterations=iterations, patience=iterations)
    return replace(method, schedule=schedule)


class _Curve:
    """One fit, looked at between its rounds."""

    def __init__(
        self, env: str, preset: str, seed: int, path: Path | None, rows: list[Result]
    ) -> None:
        self._chosen, self._path, self._rows = experiment(env), path, rows
        data = self._chosen.training_data(VARIANT, seed)
        method = _method(env, preset)
        self._tests: dict[str, Dataset] = {
            kind: self._chosen.test_data(VARIANT, TEST_STEPS, seed, is_ood)
            for kind, is_ood in (("id", False), ("ood", True))
        }
        self._trainer = Trainer(data, method, seed)
        # As a run has them: a checkpoint goes on only where it was begun.
        self._settings = Settings(
            method=method.to_json(),
            seed=seed,
            threads=torch.get_num_threads(),
            data_checksum=checksum(data),
        )
        self._resume()
        self._estimate = self._trainer.position.structure  # that the next round trains with
        self._seconds = self._rows[-1]["processor_seconds"] if self._rows else 0.0
        self._cell: Result = {
            "env": env,
            "preset": preset,
            "variant": VARIANT,
            "seed": seed,
            "possible": int(self._testable.sum()),
            "test_transitions": TEST_STEPS,
            "schedule": asdict(method.schedule),
            "command": f"oocdm bench curves --env {env} --seeds {seed}"
            + (f" --preset {preset}" if preset != "paper" else ""),
            **describe_machine(),
        }

    def measure(self, name: str, tell: Tell | None) -> Result:
        """Train to the end and return the curve."""

        def shown(state: Progress) -> None:
            if tell is not None:
                tell(name, state)

        self._since = time.process_time()
        self._trainer.run(shown, self._look)
        return self._cell

    @property
    def _testable(self) -> np.ndarray:
        """Edges that can occur."""
        return self._trainer.model.edges.testable(self._chosen.counts)

    @property
    def _steps(self) -> int:
        """The steps of all phases so far."""
        done = {entry["phase"]: entry["step"] for entry in self._trainer.position.history}
        return sum(done.values())

    def _look(self) -> None:
        """Take a row if another thousand steps are over, or all of them are."""
        self._seconds += time.process_time() - self._since
        position = self._trainer.position
        # A round of learning ends with another estimate than it trained with.
        is_learned = position.history[-1]["phase"] == "learn"
        trained = self._estimate if is_learned else position.structure
        before = self._rows[-1]["steps"] if self._rows else 0
        is_over = position.phase == "done"
        if self._steps // EVERY > before // EVERY or is_over:
            self._rows.append(self._row(trained))
            self._write(is_over)
        self._estimate = position.structure
        self._since = time.process_time()  # looking is no part of training

    def _row(self, trained: Structure) -> Result:
        position = self._trainer.position
        model = self._trainer.model.copy()
        # The model's own are those that were chosen when its graph was, and read for them alone.
        model.paths.copy_(torch.tensor(trained.paths))
        if isinstance(model, OocdmModel):
            model.idle = frozenset()
        asked = _Asked(model, trained.graph)
        return {
            "steps": self._steps,
            "phase": position.history[-1]["phase"],
            "wrong": self._wrong(position.structure),
            "wrong_trained": self._wrong(trained),
            **{f"aill_{kind}": evaluate(asked, data).aill for kind, data in self._tests.items()},
            "processor_seconds": self._seconds,
        }

    def _wrong(self, structure: Structure) -> int:
        true = self._chosen.make(VARIANT).true_graph
        assert true is not None  # of all that have curves to be compared with
        return structure.graph.compare(true, testable=self._testable).shd

    # ---------------------------------------------------------------- files

    @property
    def _folder(self) -> Path | None:
        """Where the checkpoint is until the curve is finished."""
        return None if self._path is None else self._path.with_suffix(".run")

    def _write(self, is_over: bool) -> None:
        """Write the curve, then the checkpoint: a row without one is measured again."""
        self._cell |= {"rows": self._rows, "finished": is_over}
        if self._path is None or self._folder is None:
            return
        write_json(self._path, self._cell)
        if is_over:
            shutil.rmtree(self._folder, ignore_errors=True)
        else:
            write_checkpoint(self._folder, self._trainer, self._settings)

    def _resume(self) -> None:
        """Go on from the checkpoint, if there is one, with the rows up to it."""
        if self._folder is not None and self._rows:
            contents = Contents.of(self._folder, ModelError)
            if contents.has(CHECKPOINT):
                read_checkpoint(contents, self._trainer, self._settings)
        self._rows = [row for row in self._rows if row["steps"] <= self._steps]
