"""Verbs that judge fits: against the truth of generated worlds and other people's simulators."""

from __future__ import annotations

from typing import Annotated

import typer

from oocdm.cli.bench import Results, parse_seeds, show_measured
from oocdm.cli.output import AsJson, Threads


def calibration(
    seeds: Annotated[
        str,
        typer.Option(
            help="Of worlds, such as 0-29. Those from 0 to 299 are for judging; from 10,000 on "
            "they are for choosing rules and settings."
        ),
    ],
    family: Annotated[
        list[str] | None,
        typer.Option(help="Of generated worlds; may be repeated, all if not given."),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Worlds that are fitted side by side, each with its threads.")
    ] = 1,
    threads: Threads = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Compare fits of generated worlds with the truth: edges, nats below it, intervals."""
    from oocdm.bench.calibration import ALL_FAMILIES, run_calibration
    from oocdm.report.calibration_rows import (
        FOUND,
        POWER,
        PREDICTED,
        found_cells,
        power_cells,
        predicted_cells,
    )
    from oocdm.report.terminal import text_table

    show_measured(
        lambda bar: run_calibration(
            family or ALL_FAMILIES, parse_seeds(seeds), output, jobs, bar.show_worlds
        ),
        lambda answer: [
            text_table(FOUND, [found_cells(*row) for row in answer["summary"].items()]),
            text_table(POWER, map(power_cells, answer["summary"]["all"]["curve"])),
            text_table(PREDICTED, [predicted_cells(*row) for row in answer["summary"].items()]),
        ],
        threads,
        as_json,
    )


def logs(
    env: Annotated[
        str, typer.Option(help="highway or mpe; both need the extra oocdm[logs].")
    ] = "highway",
    seeds: Annotated[str, typer.Option(help="Of fits, such as 0-2.")] = "0-2",
    jobs: Annotated[int, typer.Option(min=1, help="Fits side by side, each with its threads.")] = 1,
    threads: Threads = 1,
    output: Results = None,
    as_json: AsJson = False,
) -> None:
    """Fit logs of another package's simulator, and compare with what its code reads and does."""
    from oocdm.bench.logs import run_logs
    from oocdm.report.logs_rows import (
        GRAPHS,
        ROLLOUTS,
        SLOWED,
        graph_cells,
        rollout_rows,
        slowed_cells,
    )
    from oocdm.report.terminal import text_table

    show_measured(
        lambda bar: run_logs(env, parse_seeds(seeds), output, jobs, bar.show_worlds),
        lambda answer: [
            text_table(GRAPHS, map(graph_cells, answer["cells"])),
            text_table(ROLLOUTS, rollout_rows(answer["cells"])),
            text_table(SLOWED, map(slowed_cells, answer["cells"])),
        ],
        threads,
        as_json,
    )
