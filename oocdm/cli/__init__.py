"""The command line: `oocdm` and `python -m oocdm`."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Annotated

import typer

import oocdm
from oocdm.cli import bench, data, demo, judging, methods, plan, runs
from oocdm.cli.output import verb
from oocdm.cli.shared_options import spread

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
benchmarks = typer.Typer(
    no_args_is_help=True, help="Measure: the paper's tables, speed, calibration, need of data."
)


def _add(group: typer.Typer, name: str, run: Callable[..., None], example: str) -> None:
    group.command(name, epilog=f"Example: {example}")(verb(spread(run)))


_add(app, "demo", demo.demo, "oocdm demo")
_add(app, "envs", data.envs, "oocdm envs")
_add(app, "methods", methods.methods, "oocdm methods")
_add(app, "collect", data.collect, "oocdm collect block --num-blocks 5 --seed 0 -o data/block5")
_add(app, "train", runs.train, "oocdm train data/block5 --method oocdm --seed 0 -o runs/block5")
_add(app, "resume", runs.resume, "oocdm resume runs/block5")
_add(app, "discover", runs.discover, "oocdm discover runs/block5 --data data/other --threshold 0.1")
_add(app, "eval", runs.evaluate, "oocdm eval runs/block5 --data data/other")
_add(app, "accept", runs.accept, "oocdm accept runs/block5")
_add(app, "plan", plan.plan, "oocdm plan runs/mouse --env mouse --episodes 10 --render episode.gif")
_add(benchmarks, "paper", bench.paper, "oocdm bench paper --env block5 --seeds 0-2 --json")
_add(benchmarks, "speed", bench.speed, "oocdm bench speed --env block5 --json")
_add(benchmarks, "memory", bench.memory, "oocdm bench memory --world fields --json")
_add(
    benchmarks,
    "calibration",
    judging.calibration,
    "oocdm bench calibration --family forces --seeds 10000-10009 -o results",
)
_add(benchmarks, "logs", judging.logs, "oocdm bench logs --env highway --seeds 0-2 -o results")
_add(benchmarks, "samples", bench.samples, "oocdm bench samples --env block5 -o results")
_add(benchmarks, "curves", bench.curves, "oocdm bench curves --env block5 --seeds 0-2 -o results")
_add(benchmarks, "decisions", bench.decisions, "oocdm bench decisions --env block10 -o results")
_add(benchmarks, "units", bench.units, "oocdm bench units --env block2 -o results")
_add(benchmarks, "planning", bench.planning, "oocdm bench planning --threads 2 -o results")
_add(benchmarks, "online", bench.online, "oocdm bench online --env mouse --seeds 0-1 -o results")
_add(benchmarks, "discovery", bench.discovery, "oocdm bench discovery -o results")
app.add_typer(benchmarks, name="bench")


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"oocdm {oocdm.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Causal world models of environments made of objects."""


def main() -> None:
    """Run the command line; what a terminal cannot show is replaced, not an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()
