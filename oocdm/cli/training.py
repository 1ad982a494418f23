"""What the training verbs share: their settings, and a fit with progress, curves and picture."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import oocdm
from oocdm.cli.output import INTERRUPTED, Output
from oocdm.errors import GraphError, ModelError
from oocdm.graph import graph_from_json
from oocdm.report.progress import ProgressBar
from oocdm.report.tensorboard import ScalarLog

if TYPE_CHECKING:
    from oocdm.graph import ClassGraph, Graph
    from oocdm.methods import AbstractMethod
    from oocdm.schema import Schema
    from oocdm.training import Callback, FitResult, Progress

PICTURE = "graph.png"
CURVES = "tensorboard"


def check_new(folder: Path) -> None:
    """Raise a `ModelError` if a run would mix with what is in a folder already."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ModelError(
            f"`{folder}` exists already. Choose another folder, or go on with an interrupted run: "
            f"oocdm resume {folder}"
        )


def is_finished(run: Path) -> bool:
    """Whether a run was trained to its end."""
    return (run / "model.safetensors").is_file()


def choose_method(
    name: str, preset: str, options: Mapping[str, Any], schedule: Mapping[str, int | None]
) -> AbstractMethod:
    """A method by name; what is None stays as the preset has it."""
    from oocdm.methods import make_method

    chosen: dict[str, Any] = {k: v for k, v in options.items() if v is not None}
    changes: dict[str, Any] = {k: v for k, v in schedule.items() if v is not None}
    start = make_method(name, preset).schedule
    return make_method(name, preset, schedule=dataclasses.replace(start, **changes), **chosen)


def read_graph(path: Path, schema: Schema) -> Graph:
    """A graph file: rows as a graph prints, or JSON such as a run's `graph.json`."""
    try:
        text = path.read_text()
        data = json.loads(text) if path.suffix == ".json" else None
    except (OSError, ValueError) as error:
        raise GraphError(f"`{path}` cannot be read as a graph: {error}") from None
    if data is None:
        return oocdm.ClassGraph.parse(schema, [row for row in text.splitlines() if row.strip()])
    return graph_from_json(schema, data if isinstance(data, dict) else {})


def follow(
    train: Callable[[Callback], FitResult], run: Path, true: ClassGraph | None = None
) -> FitResult:
    """Train with a progress bar and TensorBoard curves, then draw the graph into the run."""
    from oocdm.report.adjacency import save_adjacency

    with ProgressBar() as bar, ScalarLog(run / CURVES) as log:

        def tell(progress: Progress) -> None:
            bar.show_fit(progress)
            log(progress)

        try:
            result = train(tell)
        except KeyboardInterrupt:
            advice = f" Go on with: oocdm resume {run}" if (run / "config.json").is_file() else ""
            typer.echo(f"Interrupted.{advice}", err=True)
            raise typer.Exit(INTERRUPTED) from None
        log.write_rounds(result.history)
    save_adjacency(run / PICTURE, result.graph, result.evidence, true)
    return result


def show_result(out: Output, result: FitResult, run: Path) -> None:
    """Tell what was learned and where it is."""
    from oocdm.report.terminal import graph_text

    out.say(graph_text(result.graph, result.evidence))
    out.say(f"\nTrained in {result.seconds:.0f} s. Run in {run}, picture in {run / PICTURE}")
    out.finish(
        {
            "run": str(run),
            "method": result.method.name,
            "seed": result.seed,
            **result.graph.to_json(),
            "rounds": result.history,
            "seconds": result.seconds,
            "picture": str(run / PICTURE),
        }
    )
