"""The verb that acts with a run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import oocdm
from oocdm.cli.env_options import EnvOptions, check_has_reward
from oocdm.cli.output import AsJson, Output, Seed, Threads, use_threads
from oocdm.cli.planner_options import PlannerOptions
from oocdm.cli.runs import Run
from oocdm.errors import PlanError
from oocdm.report.progress import ProgressBar

if TYPE_CHECKING:
    import numpy as np

    from oocdm.envs.gym_env import Draw, WorldGym
    from oocdm.planning import Agent, Moment

LEARNED, RANDOM, TRUE = "learned model", "random policy", "true dynamics"


def plan(
    *,
    run: Run,
    env: Annotated[str, typer.Option(help="Name of the environment, see `oocdm envs`.")],
    episodes: Annotated[int, typer.Option(min=1, help="How many, side by side.")] = 10,
    steps: Annotated[
        int | None, typer.Option(min=1, help="The most an episode has; else as the environment.")
    ] = None,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Also act at random, and plan with the true dynamics."),
    ] = False,
    render: Annotated[
        Path | None, typer.Option(metavar="FILE.gif", help="Draw the first episode.")
    ] = None,
    memory: Annotated[
        str, typer.Option(help="What a plan in the learned world may take, such as 8GiB.")
    ] = "4GiB",
    seed: Seed = 0,
    threads: Threads = 1,
    planning: PlannerOptions,
    options: EnvOptions,
    as_json: AsJson = False,
) -> None:
    """Act in an environment: plan every step in the world that a run has learned."""
    from oocdm.report.animation import save_animation
    from oocdm.report.terminal import episodes_table

    use_threads(threads)
    out, started = Output(as_json), time.perf_counter()
    world = options.make(env)
    draw = None if render is None else _picture(render, env)
    agents = _agents(run, env, world, planning, seed, memory)
    chosen = agents if compare else {LEARNED: agents[LEARNED]}
    moments: list[Moment] = []
    with ProgressBar() as bar:
        results = {
            name: oocdm.run_episodes(
                world.world,
                agent,
                episodes,
                seed,
                steps,
                progress=partial(bar.show_episodes, f"Acting with the {name}"),
                watch=moments.append if name == LEARNED else None,
            )
            for name, agent in chosen.items()
        }
        if render is not None and draw is not None:
            save_animation(render, _frames(moments, draw, bar), world.metadata["render_fps"])
    out.say(episodes_table(results))
    if render is not None:
        out.say(f"\nThe first episode is drawn in {render}")
    out.finish(
        {
            "run": str(run),
            "env": env,
            "options": options.given(),
            **planning.to_json(),
            "seed": seed,
            "episodes": episodes,
            "max_steps": steps or world.world.max_episode_steps,
            **results.pop(LEARNED).to_json(),
            "compared": {name: found.to_json() for name, found in results.items()},
            "picture": None if render is None else str(render),
            "seconds": time.perf_counter() - started,
        }
    )


def _agents(
    run: Path, env: str, world: WorldGym, planning: PlannerOptions, seed: int, memory: str
) -> dict[str, Agent]:
    """The agent of a run, and those that bound it from below and from above."""
    from oocdm.planning import RandomAgent, TrueSimulator

    planner, result = planning.make(), oocdm.load(run)
    difference = world.schema.difference(result.model.schema)
    if difference is not None:
        raise PlanError(
            f"Environment `{env}` does not fit run {run}. First difference, environment against "
            f"run: {difference}. Name the environment, with the options, that the run has learned."
        )
    check_has_reward(
        env,
        "Or plan from Python with a task of your own: oocdm.MPC(result, oocdm.Task(...)).",
    )
    assert world.task is not None
    truth = TrueSimulator(world.world)
    return {
        LEARNED: oocdm.MPC(
            result,
            world.task,
            planner,
            seed,
            planning.warm_start,
            caution=planning.caution,
            memory=memory,
        ),
        RANDOM: RandomAgent(world.world, seed),
        TRUE: oocdm.MPC.within(truth, planner, seed, planning.warm_start),
    }


def _picture(path: Path, env: str) -> Draw:
    """What draws an environment, if it can be drawn into that file."""
    from oocdm.envs import picture_of
    from oocdm.report.animation import check_animation_path

    draw = picture_of(env)
    if draw is None:
        raise PlanError(
            f"Option --render: environment `{env}` has no picture. Leave the option out."
        )
    check_animation_path(path)
    return draw


def _frames(moments: Sequence[Moment], draw: Draw, bar: ProgressBar) -> Iterator[np.ndarray]:
    from oocdm.report.animation import with_caption
    from oocdm.report.terminal import short_number

    for i, moment in enumerate(moments):
        bar.show("Drawing the first episode", i + 1, len(moments))
        earned = f"reward so far {short_number(moment.earned)}"
        yield with_caption(draw(moment.state), f"step {moment.step}", earned)
