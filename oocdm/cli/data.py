"""Verbs that make data."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

import oocdm
from oocdm.cli.env_options import EnvOptions
from oocdm.cli.output import AsJson, Output, Seed
from oocdm.errors import DataError
from oocdm.report.progress import ProgressBar
from oocdm.report.terminal import text_table


def envs(as_json: AsJson = False) -> None:
    """List the environments, with their sizes and options."""
    out, infos = Output(as_json), oocdm.list_envs()
    rows = [
        (
            info.name,
            ", ".join(f"{n} {c}" for c, n in info.max_objects.items()),
            ", ".join(f"{name}={value}" for name, value in info.options.items()),
        )
        for info in infos
    ]
    for info in infos:
        out.say(f"{info.name}: {info.description}")
    out.say()
    out.say(text_table(["name", "objects", "options and their defaults"], rows))
    out.finish({"envs": [vars(info) for info in infos]})


def collect(
    *,
    env: Annotated[str, typer.Argument(metavar="ENV", help="Its name, as `oocdm envs` lists it.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the dataset.")],
    steps: Annotated[int, typer.Option(help="Transitions to log.")] = 10_000,
    seed: Seed = 0,
    options: EnvOptions,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a dataset.")] = False,
    as_json: AsJson = False,
) -> None:
    """Log transitions of an environment under its random policy into a dataset folder."""
    out, started = Output(as_json), time.perf_counter()
    if output.exists() and not overwrite:
        raise DataError(f"`{output}` exists already. Choose another folder, or pass --overwrite.")
    world = options.make(env)
    with ProgressBar() as bar:
        data = oocdm.collect(world, steps=steps, seed=seed, progress=bar.show_collect)
    data.save(output, overwrite=overwrite)
    out.say(f"{data}\nWritten to {output}")
    out.finish(
        {
            "data": str(output),
            "env": env,
            "options": options.given(),
            "seed": seed,
            "episodes": data.num_episodes,
            "transitions": len(data),
            "max_counts": data.max_counts,
            "seconds": time.perf_counter() - started,
        }
    )
