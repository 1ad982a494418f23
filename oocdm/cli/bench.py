"""Verbs that measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from oocdm.cli.output import AsJson, Output, Threads, use_threads
from oocdm.errors import ModelError, OocdmError, short
from oocdm.reading import Seed, read
from oocdm.report.progress import ProgressBar

if TYPE_CHECKING:
    from oocdm.methods import AbstractMethod

Results = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Folder for results; what is there is not run again."),
]

TABLES = ("graphs", "aill", "time", "size", "returns", "unseen")
MOST_SEEDS = 10_000
MINUTES = 5.0  # of each cell where methods are compared


def paper(
    env: Annotated[list[str] | None, typer.Option(help="Such as block5; may be repeated.")] = None,
    table: Annotated[
        str | None,
        typer.Option(help="graphs, aill, time, size, returns or unseen, instead of single cells."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="May be repeated; `all` for all that the table takes. oocdm if not given."
        ),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Such as 0, 0-2 or 0,3,7; 0, or those of the table.")
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(min=1, help="Of each agent in the tables of returns and unseen tasks; 10."),
    ] = None,
    preset: Annotated[str, typer.Option(help="default or paper.")] = "default",
    variant: Annotated[str, typer.Option(help="released or paper.")] = "released",
    minutes: Annotated[
        float | None, typer.Option(min=0, help="End each fit after so long.")
    ] = None,
    threads: Threads = 1,
    jobs: Annotated[
        int, typer.Option(min=1, help="Cells that are fitted side by side, each with its threads.")
    ] = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Measure graph accuracy, AILL, times, sizes and returns as the paper's tables do."""
    if table not in (None, *TABLES):
        raise OocdmError(f"Option --table: expected {', '.join(TABLES)}, got {table!r}.")
    given = {"--env": env, "--method": method, "--seeds": seeds, "--minutes": minutes}
    given |= {"--preset": preset != "default", "--variant": variant != "released"}
    given |= {"--episodes": episodes, "--jobs": jobs > 1}
    if table in ("returns", "unseen"):
        _refuse(table, given, "--env", "--minutes", "--preset", "--variant", "--jobs")
        _measure_acting(table, method, seeds, episodes or 10, output, threads, as_json)
        return
    _refuse(table or "single cells", given, "--episodes")
    if not env and table != "graphs":
        raise OocdmError(
            "bench paper: expected --env, --table graphs, returns or unseen, or both --env and one "
            "of --table graphs, aill, time and size."
        )
    if not env:
        _refuse("graphs without --env", given, *(name for name in given if name != "--jobs"))
    if table == "time":
        _refuse(table, given, "--seeds", "--preset", "--variant", "--minutes", "--jobs")
    # Where methods are compared each cell has the same time unless it is told otherwise.
    is_compared = bool(env) and table is not None

    def run(bar: ProgressBar) -> dict[str, Any]:
        from oocdm.bench.discovery_times import METHODS as TIMED
        from oocdm.bench.paper import run_graphs, run_paper, run_times

        if not env:
            return run_graphs(output, bar.show_cell, jobs)
        methods = method or (["all"] if is_compared else ["oocdm"])
        if table == "time":
            timed = _all_or(methods, lambda each: each.name in TIMED)
            return run_times(env, timed, output, bar.show)
        return run_paper(
            envs=env,
            methods=_all_or(methods),
            seeds=parse_seeds(seeds or ("0-2" if is_compared else "0")),
            preset=preset,
            results_folder=output,
            minutes=MINUTES if minutes is None and is_compared else minutes,
            progress=bar.show_cell,
            variant=variant,
            jobs=jobs,
        )

    def show(answer: dict[str, Any]) -> list[Table]:
        from oocdm.bench.figures import paper_figures
        from oocdm.report.comparison import comparison_rows
        from oocdm.report.terminal import cells_table, text_table

        if table is None or not env:
            return [cells_table(answer["cells"])]
        return [text_table(*comparison_rows(table, answer["cells"], paper_figures()))]

    show_measured(run, show, threads, as_json)


def _refuse(table: str, given: Mapping[str, Any], *options: str) -> None:
    """Raise an `OocdmError` if one of these options was given: the table is what it is."""
    for option in options:
        if given[option]:
            raise OocdmError(
                f"bench paper: the table of {table} has no use for {option}. Leave it out."
            )


def _all_or(
    methods: Sequence[str], suits: Callable[[type[AbstractMethod]], bool] = lambda each: True
) -> list[str]:
    """Names of methods; "all" stands for all that suit, less those that cannot be loaded."""
    from oocdm.methods import method_class, method_names

    if list(methods) != ["all"]:
        return list(methods)
    found = []
    for name in method_names():
        try:
            if suits(method_class(name)):
                found.append(name)
        except ModelError as error:
            typer.echo(f"Warning: {error} It is left out.", err=True)
    return found


def _measure_acting(
    table: str,
    methods: list[str] | None,
    seeds: str | None,
    episodes: int,
    output: Path | None,
    threads: int,
    as_json: bool,
) -> None:
    """The tables of what agents earn."""
    from oocdm.bench.returns import (
        METHODS,
        SEEDS,
        run_returns,
        run_unseen,
    )
    from oocdm.report.return_table import RETURNS, UNSEEN, returns_cells, unseen_cells
    from oocdm.report.terminal import text_table

    if table == "returns":
        measure, header, cells = run_returns, RETURNS, returns_cells
        chosen = _all_or(methods or METHODS)
    else:
        measure, header, cells = run_unseen, UNSEEN, unseen_cells
        chosen = _all_or(methods or METHODS, lambda each: not each.needs_fixed_objects)
    show_measured(
        lambda bar: measure(
            output,
            bar.show,
            chosen,
            SEEDS if seeds is None else parse_seeds(seeds),
            episodes,
        ),
        lambda answer: [text_table(header, map(cells, answer["cells"]))],
        threads,
        as_json,
    )


def discovery(
    method: Annotated[
        list[str] | None, typer.Option(help="May be repeated; all that discover if not given.")
    ] = None,
    blocks: Annotated[list[int] | None, typer.Option(min=1, help="May be repeated.")] = None,
    threads: Threads = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Measure how the time of discovery grows with the number of blocks, method by method."""
    from oocdm.bench.discovery_times import BLOCKS, METHODS, run_discovery_growth
    from oocdm.report.terminal import text_table

    show_measured(
        lambda bar: run_discovery_growth(output, bar.show, method or METHODS, blocks or BLOCKS),
        lambda answer: [
            text_table(
                ["method", "blocks", "variables", "samples", "seconds"],
                [
                    (
                        *(str(row[k]) for k in ("method", "blocks", "variables", "samples")),
                        f"{row['seconds']:.2f}",
                    )
                    for row in answer["rows"]
                ],
            )
        ],
        threads,
        as_json,
    )


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

    show_measured(
        lambda bar: run_speed(env, repeats, output, bar.tell),
        lambda answer: [speed_table(answer["rows"]), growth_table(answer["growth"])],
        threads,
        as_json,
    )


def memory(
    world: Annotated[
        list[str] | None,
        typer.Option(help="objects, fields or categories; may be repeated, all if not given."),
    ] = None,
    threads: Threads = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Measure what fits of large worlds take, against the estimate beforehand."""
    from oocdm.bench.memory import run_memory
    from oocdm.models.memory import say_memory
    from oocdm.report.terminal import text_table

    show_measured(
        lambda bar: run_memory(world, output, bar.tell),
        lambda answer: [
            text_table(
                ["world", "objects", "transitions", "estimate", "peak", "seconds"],
                [
                    (
                        *(str(row[k]) for k in ("world", "objects", "transitions")),
                        say_memory(row["estimate"]),
                        "unknown" if row["peak"] is None else say_memory(row["peak"]),
                        f"{row['seconds']:.0f}",
                    )
                    for row in answer["rows"]
                ],
            )
        ],
        threads,
        as_json,
    )


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

    show_measured(
        lambda bar: run_samples(env, output, bar.show_cell),
        lambda answer: [samples_table(answer["rows"])],
        threads,
        as_json,
    )


def curves(
    env: Annotated[
        list[str] | None, typer.Option(help="Of the authors' curves; block5 if not given.")
    ] = None,
    seeds: Annotated[str, typer.Option(help="Such as 0, 0-2 or 0,3,7.")] = "0-2",
    preset: Annotated[str, typer.Option(help="paper or default.")] = "paper",
    threads: Threads = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Measure wrong edges and AILL every 1,000 steps, as the authors' program was measured."""
    from oocdm.bench.curves import run_curves
    from oocdm.report.curves_rows import CURVES, curve_rows
    from oocdm.report.terminal import text_table

    show_measured(
        lambda bar: run_curves(
            env or ["block5"], parse_seeds(seeds), preset, output, bar.show_cell
        ),
        lambda answer: [text_table(CURVES, chain.from_iterable(map(curve_rows, answer["cells"])))],
        threads,
        as_json,
    )


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

    show_measured(
        lambda bar: run_decisions(env, output, bar.show_cell),
        lambda answer: [decisions_table(answer["rows"])],
        threads,
        as_json,
    )


def units(
    env: Annotated[
        list[str] | None,
        typer.Option(help="May be repeated; block2, mouse and generated0 to 4 if not given."),
    ] = None,
    unit: Annotated[
        list[str] | None,
        typer.Option(help="2^-27, 2^-10, 2^10, 2^27 or mixed; may be repeated, all if not given."),
    ] = None,
    threads: Threads = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Fit worlds whose numbers are in other units: are graphs and relative errors the same?"""
    from oocdm.bench.units import run_units
    from oocdm.report.terminal import units_table

    show_measured(
        lambda bar: run_units(env, unit, output, bar.show_cell),
        lambda answer: [units_table(answer["rows"])],
        threads,
        as_json,
    )


def online(
    env: Annotated[str, typer.Option(help="One with a reward.")] = "mouse",
    seeds: Annotated[str, typer.Option(help="Such as 0, 0-2 or 0,3,7.")] = "0-1",
    threads: Threads = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Learn while acting, against as many transitions of the random policy; hours a seed."""
    from oocdm.bench.online import run_online
    from oocdm.report.online_picture import save_online
    from oocdm.report.return_table import ONLINE, online_cells
    from oocdm.report.terminal import text_table

    def run(bar: ProgressBar) -> dict[str, Any]:
        answer = run_online(output, bar.show, env, parse_seeds(seeds))
        if output is not None:
            histories = {f"seed {cell['seed']}": cell["history"] for cell in answer["cells"]}
            save_online(output / f"online-{env}.png", histories)
        return answer

    show_measured(
        run,
        lambda answer: [text_table(ONLINE, map(online_cells, answer["cells"]))],
        threads,
        as_json,
    )


def planning(
    repeats: Annotated[int, typer.Option(min=1, help="Times are medians of so many.")] = 9,
    threads: Threads = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Measure how long one action of Mouse takes to plan, and with more objects."""
    from oocdm.bench.planning import run_planning
    from oocdm.report.return_table import GROWTH, PLANNING, growth_cells, planning_cells
    from oocdm.report.terminal import text_table

    show_measured(
        lambda bar: run_planning(output, bar.show, repeats),
        lambda answer: [
            text_table(PLANNING, map(planning_cells, answer["rows"])),
            text_table(GROWTH, map(growth_cells, answer["growth"])),
        ],
        threads,
        as_json,
    )


def show_measured(
    run: Callable[[ProgressBar], dict[str, Any]],
    tables: Callable[[dict[str, Any]], list[Table]],
    threads: int,
    as_json: bool,
) -> None:
    """Run a benchmark with a progress bar, then show its tables or its JSON."""
    use_threads(threads)
    out = Output(as_json)
    with ProgressBar() as bar:
        answer = run(bar)
    for table in tables(answer):
        out.say(table)
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
            some = range(int(low), int(high if dash else low) + 1)
            if len(seeds) + some[-1] - some[0] >= MOST_SEEDS:
                raise OocdmError(
                    f"Option --seeds: expected at most {MOST_SEEDS:,} seeds, got {short(text)}."
                )
            seeds += some
    except (ValueError, IndexError):
        seeds = []
    if not seeds:
        raise OocdmError(f"Option --seeds: expected such as 0, 0-2 or 0,3,7, got {short(text)}.")
    return list(read(list[Seed], seeds, "Option --seeds"))
