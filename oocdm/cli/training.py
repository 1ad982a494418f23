"""What the training verbs share: their settings, and a fit with progress, curves and picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
import yaml

from oocdm.cli.output import Output
from oocdm.errors import GraphError, ModelError
from oocdm.files.reading import parse_json, read_bytes
from oocdm.files.writing import check_own_folder
from oocdm.graph import graph_from_json, graph_from_rows
from oocdm.interruption import INTERRUPTED
from oocdm.reading import read_yaml
from oocdm.report.progress import ProgressBar
from oocdm.report.tensorboard import ScalarLog

if TYPE_CHECKING:
    from oocdm.data import Dataset
    from oocdm.graph import ClassGraph, Graph
    from oocdm.methods import AbstractMethod
    from oocdm.training import Callback, FitResult, Progress

NAMED = 5  # edges that are named in a line; the others are counted
PICTURE = "graph.png"
CURVES = "tensorboard"


def choose_method(
    name: str,
    preset: str,
    texts: Sequence[str],
    flags: Mapping[str, float | str | None],
    schedule: Mapping[str, int | None],
) -> AbstractMethod:
    """A method by name, with options as `--option` gives them or by a flag of their own.

    What is None stays as the preset has it.
    """
    from oocdm.methods import configured

    options: dict[str, Any] = {}
    for option, value in map(_read_option, texts):
        if option in options:
            raise ModelError(f"--option: expected `{option}` once, got it twice. Leave one out.")
        options[option] = value
    parts = options.get("schedule", {})
    if isinstance(parts, Mapping):
        options["schedule"] = _with_flags(parts, schedule)
    return configured(name, preset, _with_flags(options, flags))


def _read_option(text: str) -> tuple[str, Any]:
    """An option of a method, such as `alpha=0.05`: its name and its value."""
    name, sign, value = text.partition("=")
    try:
        found = read_yaml(value)
    except (yaml.YAMLError, ValueError):
        found = value
    if not (name and sign and value):
        raise ModelError(f"--option: expected the form `name=value`, got `{text}`.")
    return name, found


def _with_flags(options: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The options with those whose flags were given."""
    given = {name: value for name, value in flags.items() if value is not None}
    for name in given:
        if name in options:
            raise ModelError(
                f"--{name.replace('_', '-')}: expected `{name}` once, got it by --option as well. "
                "Leave one out."
            )
    return {**options, **given}


def read_graph(path: Path, data: Dataset) -> Graph:
    """A graph file: rows as a graph prints, or JSON such as a run's `graph.json`."""
    content = read_bytes(path, "bytes of JSON", GraphError, is_named=True)
    if path.suffix == ".json":
        return graph_from_json(data.schema, parse_json(content, path, GraphError))
    try:
        rows = [row for row in content.decode().splitlines() if row.strip()]
    except UnicodeDecodeError as error:
        raise GraphError(f"`{path}` cannot be read as a graph: {error}") from None
    return graph_from_rows(data.schema, rows, data.max_counts)


def follow(
    train: Callable[[Callback], FitResult], run: Path, true: ClassGraph | None = None
) -> FitResult:
    """Train with a progress bar and TensorBoard curves, then draw the graph into the run."""
    check_own_folder(run / CURVES)
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
    draw(run, result, true)
    return result


def draw(run: Path, result: FitResult, true: ClassGraph | None = None) -> None:
    """Draw the graph into the run."""
    from oocdm.report.adjacency import save_adjacency

    save_adjacency(run / PICTURE, result.graph, result.evidence, true)


def say_what_predicts(out: Output, result: FitResult) -> None:
    """Tell in a line if the model predicts with more than is claimed."""
    if result.kept_undecided:
        names, more = result.kept_undecided[:NAMED], len(result.kept_undecided) - NAMED
        rest = f" and {more} more (see graph.json)" if more > 0 else ""
        out.say(f"\nPredicts with undecided edges as well: {', '.join(names)}{rest}")


def show_result(
    out: Output, result: FitResult, run: Path, more: Mapping[str, Any] | None = None
) -> None:
    """Tell what was learned and where it is; `more` is for machines alone."""
    from oocdm.report.terminal import graph_text

    out.say(graph_text(result.graph, result.evidence))
    say_what_predicts(out, result)
    picture = run / PICTURE if (run / PICTURE).is_file() else None
    where = "" if picture is None else f", picture in {picture}"
    out.say(f"\nTrained in {result.seconds:.0f} s. Run in {run}{where}")
    out.finish(
        {
            "run": str(run),
            "method": result.method.name,
            "seed": result.seed,
            **result.graph.to_json(),
            "kept_undecided": list(result.kept_undecided),
            "settled": result.settled,
            "rounds": result.history,
            "seconds": result.seconds,
            "ran_out": result.ran_out,
            "picture": None if picture is None else str(picture),
            **(more or {}),
        }
    )
