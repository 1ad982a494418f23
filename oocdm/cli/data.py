"""Verbs that make data."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

import oocdm
from oocdm.cli.output import AsJson, Output, Seed
from oocdm.errors import DataError, OocdmError
from oocdm.report.progress import ProgressBar
from oocdm.report.terminal import text_table

Count = Annotated[str | None, typer.Option(metavar="N or LOW-HIGH")]


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
    env: Annotated[str, typer.Argument(metavar="ENV", help="Its name, as `oocdm envs` lists it.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the dataset.")],
    steps: Annotated[int, typer.Option(help="Transitions to log.")] = 10_000,
    seed: Seed = 0,
    variant: Annotated[str | None, typer.Option(help="Numbers: paper or released.")] = None,
    ood: Annotated[bool, typer.Option("--ood", help="Start out of distribution.")] = False,
    noise: Annotated[float | None, typer.Option(help="Sd of observation noise (Block).")] = None,
    likelihood: Annotated[
        str | None, typer.Option(help="Of whole numbers: categorical or normal (Mouse).")
    ] = None,
    world_seed: Annotated[int | None, typer.Option(help="Which world (generated).")] = None,
    num_blocks: Annotated[str | None, typer.Option(metavar="N", help="Or: random.")] = None,
    num_food: Count = None,
    num_monsters: Count = None,
    num_traps: Count = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a dataset.")] = False,
    as_json: AsJson = False,
) -> None:
    """Log transitions of an environment under its random policy into a dataset folder."""
    out, started = Output(as_json), time.perf_counter()
    if output.exists() and not overwrite:
        raise DataError(f"`{output}` exists already. Choose another folder, or pass --overwrite.")
    plain = {
        "variant": variant,
        "ood": ood or None,
        "noise": noise,
        "likelihood": likelihood,
        "world_seed": world_seed,
    }
    counts = {
        "num_blocks": num_blocks,
        "num_food": num_food,
        "num_monsters": num_monsters,
        "num_traps": num_traps,
    }
    options: dict[str, Any] = {n: v for n, v in plain.items() if v is not None}
    options |= {n: _count(n, v) for n, v in counts.items() if v is not None}
    world = oocdm.make(env, **options)
    with ProgressBar() as bar:
        data = oocdm.collect(world, steps=steps, seed=seed, progress=bar.show_collect)
    data.save(output, overwrite=overwrite)
    out.say(f"{data}\nWritten to {output}")
    out.finish(
        {
            "data": str(output),
            "env": env,
            "options": options,
            "seed": seed,
            "episodes": data.num_episodes,
            "transitions": len(data),
            "max_counts": data.max_counts,
            "seconds": time.perf_counter() - started,
        }
    )


def _count(option: str, text: str) -> int | tuple[int, int] | None:
    """A number of objects: `4`, a range `3-6`, or `random`."""
    low, dash, high = text.partition("-")
    try:
        if text == "random":
            return None
        return (int(low), int(high)) if dash else int(text)
    except ValueError:
        raise OocdmError(
            f"Option --{option.replace('_', '-')}: expected a number such as 4, or a range such "
            f"as 3-6, got {text!r}."
        ) from None
