"""Verbs that make data."""

from __future__ import annotations

import inspect
import time
from pathlib import Path
from typing import Annotated

import typer

import oocdm
from oocdm.cli.env_options import EnvOptions
from oocdm.cli.output import AsJson, Output, Seed
from oocdm.envs.registry import RANDOM, collector_of
from oocdm.errors import DataError, OocdmError
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
    policy: Annotated[
        str, typer.Option(help="Who acts: random, or ppo, which learns along the way (walker).")
    ] = RANDOM,
    options: EnvOptions,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a dataset.")] = False,
    as_json: AsJson = False,
) -> None:
    """Log transitions of an environment under its random policy, or another, into a folder."""
    out, started = Output(as_json), time.perf_counter()
    if output.exists() and not overwrite:
        raise DataError(f"`{output}` exists already. Choose another folder, or pass --overwrite.")
    with ProgressBar() as bar:
        data = _collected(env, policy, options, steps, seed, bar)
    data.save(output, overwrite=overwrite)
    out.say(f"{data}\nWritten to {output}")
    out.finish(
        {
            "data": str(output),
            "env": env,
            "options": options.given(),
            "policy": policy,
            "seed": seed,
            "episodes": data.num_episodes,
            "transitions": len(data),
            "max_counts": data.max_counts,
            "seconds": time.perf_counter() - started,
        }
    )


def _collected(
    env: str, policy: str, options: EnvOptions, steps: int, seed: int, bar: ProgressBar
) -> oocdm.Dataset:
    if policy == RANDOM:
        world = options.make(env)
        return oocdm.collect(world, steps=steps, seed=seed, progress=bar.show_collect)
    collect_by, given = collector_of(env, policy), options.given()
    known = inspect.signature(collect_by).parameters
    for option in given:
        if option not in known:
            raise OocdmError(
                f"Policy `{policy}` of environment `{env}` has no option `{option}`. Leave it out."
            )
    return collect_by(steps=steps, seed=seed, progress=bar.show_collect, **given)
