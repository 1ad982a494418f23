"""Verbs that measure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from oocdm.cli.output import AsJson, Output, Threads, use_threads
from oocdm.errors import OocdmError
from oocdm.report.progress import ProgressBar

Results = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Folder for results; what is there is not run again."),
]


def paper(
    env: Annotated[list[str] | None, typer.Option(help="Such as block5; may be repeated.")] = None,
    table: Annotated[
        str | None, typer.Option(help="A whole table instead of single cells: graphs.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="May be repeated; oocdm if not given.")
    ] = None,
    seeds: Annotated[str, typer.Option(help="Such as 0, 0-2 or 0,3,7.")] = "0",
    preset: Annotated[str, typer.Option(help="default or paper.")] = "default",
    variant: Annotated[str, typer.Option(help="released or paper.")] = "released",
    minutes: Annotated[
        float | None, typer.Option(min=0, help="End each fit after so long.")
    ] = None,
    threads: Threads = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Measure graph accuracy and AILL as the paper's tables do."""
    from oocdm.bench.paper import run_graphs, run_paper
    from oocdm.report.terminal import cells_table

    use_threads(threads)
    if table not in (None, "graphs"):
        raise OocdmError(f"Option --table: expected graphs, got {table!r}.")
    if (table is None) == (not env):
        raise OocdmError("bench paper: expected --env or --table, one of them.")
    out = Output(as_json)
    with ProgressBar() as bar:
        if table == "graphs":
            answer = run_graphs(output, bar.show_cell)
        else:
            answer = run_paper(
                envs=env or [],
                methods=method or ["oocdm"],
                seeds=parse_seeds(seeds),
                preset=preset,
                results_folder=output,
                minutes=minutes,
                progress=bar.show_cell,
                variant=variant,
            )
    out.say(cells_table(answer["cells"]))
    out.finish(answer)


def speed(
    env: Annotated[
        list[str] | None,
        typer.Option(help="May be repeated; block5, block10 and mouse if not given."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Times are medians of so many.")] = 5,
    threads: Threads = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Measure the fast implementation against the reference, and growth with the blocks."""
    from oocdm.bench.speed import run_speed
    from oocdm.report.terminal import growth_table, speed_table

    use_threads(threads)
    out = Output(as_json)
    with ProgressBar() as bar:
        answer = run_speed(
            envs=env or ["block5", "block10", "mouse"],
            repeats=repeats,
            results_folder=output,
            progress=bar.tell,
        )
    out.say(speed_table(answer["rows"]))
    out.say()
    out.say(growth_table(answer["growth"]))
    out.finish(answer)


def calibration(
    worlds: Annotated[int, typer.Option(min=1, help="How many generated worlds to fit.")] = 200,
    first_seed: Annotated[int, typer.Option(min=0, help="Seed of the first world.")] = 0,
    threads: Threads = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Measure how many of the edges found are wrong, on generated worlds with known graphs."""
    from oocdm.bench.calibration import run_calibration
    from oocdm.report.terminal import calibration_table

    use_threads(threads)
    out = Output(as_json)
    with ProgressBar() as bar:
        answer = run_calibration(
            worlds,
            output,
            lambda done, total: bar.show("Fitting worlds", done, total),
            first_seed,
        )
    out.say(calibration_table(answer["summary"]))
    out.finish(answer)


def samples(
    env: Annotated[
        list[str] | None, typer.Option(help="May be repeated; block5 and mouse if not given.")
    ] = None,
    threads: Threads = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Measure how many edges are wrong as the number of transitions grows."""
    from oocdm.bench.samples import run_samples
    from oocdm.report.terminal import samples_table

    use_threads(threads)
    out = Output(as_json)
    with ProgressBar() as bar:
        answer = run_samples(env, output, bar.show_cell)
    out.say(samples_table(answer["rows"]))
    out.finish(answer)


def decisions(
    env: Annotated[
        list[str] | None, typer.Option(help="May be repeated; block10 and mouse if not given.")
    ] = None,
    threads: Threads = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Measure decisions from a trained model against the reference: time and agreement."""
    from oocdm.bench.decisions import run_decisions
    from oocdm.report.terminal import decisions_table

    use_threads(threads)
    out = Output(as_json)
    with ProgressBar() as bar:
        answer = run_decisions(env, output, bar.show_cell)
    out.say(decisions_table(answer["rows"]))
    out.finish(answer)


def parse_seeds(text: str) -> list[int]:
    """Seeds as one writes them.

    >>> parse_seeds("0-2"), parse_seeds("0,3,7")
    ([0, 1, 2], [0, 3, 7])
    """
    seeds: list[int] = []
    try:
        for part in text.split(","):
            low, dash, high = part.partition("-")
            seeds += range(int(low), int(high) + 1) if dash else [int(part)]
    except ValueError:
        seeds = []
    if not seeds:
        raise OocdmError(f"Option --seeds: expected such as 0, 0-2 or 0,3,7, got {text!r}.")
    return seeds
