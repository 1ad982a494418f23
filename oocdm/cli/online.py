"""`oocdm train --online ENV`, and going on with it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import oocdm
from oocdm.cli.env_options import EnvOptions, check_has_reward
from oocdm.cli.output import Output, use_threads
from oocdm.cli.planner_options import PLANNERS, PlannerOptions
from oocdm.cli.training import draw, show_result
from oocdm.errors import ModelError, OocdmError
from oocdm.interruption import INTERRUPTED
from oocdm.report.progress import ProgressBar
from oocdm.report.terminal import say_round

if TYPE_CHECKING:
    from oocdm.online import OnlineProgress, OnlineResult
    from oocdm.planning import Planner

PICTURE = "online.png"
_option = functools.partial(typer.Option, rich_help_panel="Online")
_planner = functools.partial(typer.Option, rich_help_panel="Planner")


@dataclass(frozen=True)
class OnlineOptions:
    """What `train --online` collects and how it plans; what is None is as the library has it.

    >>> OnlineOptions(online="mouse", steps=400, horizon=5).given()
    {'steps': 400}
    """

    online: Annotated[
        str | None,
        _option(metavar="ENV", help="Learn while acting in it, in place of DATA."),
    ] = None
    steps: Annotated[int | None, _option(min=1, help="Transitions in all: 20,000.")] = None
    first: Annotated[
        int | None, _option(min=1, help="Of them at random, before there is a model: an eighth.")
    ] = None
    growth: Annotated[
        float | None, _option(help="By which a round multiplies what is learned from: 2.")
    ] = None
    explore: Annotated[
        float | None, _option(min=0, max=1, help="Share of later steps that are random: 0.2.")
    ] = None
    buffer: Annotated[
        int | None, _option(min=1, help="Transitions that are kept, the newest: all.")
    ] = None
    num_worlds: Annotated[int | None, _option(min=1, help="Episodes side by side: 8.")] = None
    planner: Annotated[str | None, _planner(help="cem, icem or mppi: cem.")] = None
    horizon: Annotated[int | None, _planner(min=1, help="Steps that it looks ahead: 20.")] = None
    samples: Annotated[
        int | None, _planner(min=1, help="Sequences of actions an iteration: 500.")
    ] = None
    planner_iterations: Annotated[int | None, _planner(min=1, help="How often it samples: 5.")] = (
        None
    )
    elites: Annotated[
        int | None,
        _planner(min=1, help="The best of them, from which it learns: 100 (cem) or 50 (icem)."),
    ] = None

    def given(self) -> dict[str, Any]:
        """The amounts that were given, as `oocdm.learn_online` takes them."""
        names = ("steps", "first", "growth", "explore", "buffer", "num_worlds")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def make_planner(self) -> Planner:
        """The planner that was asked for."""
        named: dict[str, Any] = {
            "planner": self.planner,
            "horizon": self.horizon,
            "samples": self.samples,
            "iterations": self.planner_iterations,
            "elites": self.elites,
        }
        return PlannerOptions(**{n: v for n, v in named.items() if v is not None}).make()

    def check_offline(self, options: EnvOptions) -> None:
        """Raise an `OocdmError` if something was given that only online learning uses."""
        names = [each.name for each in fields(self) if getattr(self, each.name) is not None]
        if unused := [*names, *options.given()]:
            raise OocdmError(
                f"Option --{unused[0].replace('_', '-')}: only learning in an environment uses it: "
                "name one with --online, or leave it out."
            )


def train_online(
    out: Output,
    output: Path,
    online: OnlineOptions,
    options: EnvOptions,
    settings: Mapping[str, Any],
) -> None:
    """Learn in an environment, into a new folder."""
    env = str(online.online)
    check_has_reward(
        env, "Or learn from Python with a task of your own: oocdm.learn_online(world, task)."
    )
    _follow(
        out,
        output,
        lambda callback: oocdm.learn_online(
            options.make(env),
            planner=online.make_planner(),
            folder=output,
            callback=callback,
            notes={"env": env, "options": options.given()},
            **online.given(),
            **settings,
        ),
    )


def is_online(folder: Path) -> bool:
    """Whether a folder holds online learning."""
    from oocdm.training.settings import ONLINE

    return (folder / ONLINE).is_file()


def resume_online(out: Output, folder: Path) -> None:
    """Go on with `train --online`, as it was begun."""
    from oocdm.methods import method_from_json
    from oocdm.online.settings import OnlineSettings
    from oocdm.training.settings import ONLINE

    found = OnlineSettings.read(folder / ONLINE)
    planner = found.planner or {}
    makers = {maker.__name__: maker for maker in PLANNERS.values()}
    if "env" not in found.notes or planner.get("kind") not in makers or found.between is not None:
        raise ModelError(
            f"{folder / ONLINE} was not begun by `oocdm train --online`. Give the same call of "
            "oocdm.learn_online again: it goes on."
        )
    use_threads(found.threads)
    world = oocdm.make(found.notes["env"], **_as_given(found.notes["options"]))
    _follow(
        out,
        folder,
        lambda callback: oocdm.learn_online(
            world,
            planner=makers[planner["kind"]](**{n: v for n, v in planner.items() if n != "kind"}),
            method=method_from_json(found.method),
            seed=found.seed,
            priors=found.priors,
            folder=folder,
            callback=callback,
            memory=found.memory,
            notes=found.notes,
            **found.amounts,
        ),
    )


def _as_given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of an environment as they were before JSON made lists of ranges."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in options.items()}


def _follow(
    out: Output, folder: Path, learn: Callable[[Callable[[OnlineProgress], None]], OnlineResult]
) -> None:
    """Learn with progress, then draw and tell what was learned."""
    from oocdm.report.online_picture import save_online
    from oocdm.training.settings import FINAL, ONLINE

    with ProgressBar() as bar:
        try:
            learned = learn(bar.show_online)
        except KeyboardInterrupt:
            advice = f" Go on with: oocdm resume {folder}" if (folder / ONLINE).is_file() else ""
            typer.echo(f"Interrupted.{advice}", err=True)
            raise typer.Exit(INTERRUPTED) from None
    history = learned.history.to_json()
    save_online(folder / PICTURE, {"online": history})
    draw(folder / FINAL, learned.result)
    for each in learned.history.rounds:
        out.say(say_round(each))
    out.say(f"\nReturn, AILL before learning and changed edges in {folder / PICTURE}\n")
    show_result(out, learned.result, folder / FINAL, {"online": str(folder), **history})
