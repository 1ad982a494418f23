"""Learning online against learning from as many transitions of the random policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from oocdm.bench.cells import VARIANT, experiment
from oocdm.bench.machine import describe_machine
from oocdm.bench.mouse import Tell
from oocdm.bench.results import Result, recall
from oocdm.envs import list_envs
from oocdm.errors import OocdmError
from oocdm.inference import evaluate
from oocdm.online import OnlineProgress, learn_online
from oocdm.planning import CEM, MPC, EpisodesProgress, run_episodes
from oocdm.training import FitResult, Progress, fit, resume
from oocdm.training.settings import CONFIG
from oocdm.worlds import AbstractWorld, collect

SEEDS = (0, 1)
STEPS = 20_000
PLANNED = 0.5  # of all transitions, on average
EPISODES = 20
MAX_STEPS = 100
TEST_STEPS = 10_000  # of the random policy
PLANNER = CEM()


def run_online(
    folder: str | Path | None = None,
    tell: Tell | None = None,
    env: str = "mouse",
    seeds: Sequence[int] = SEEDS,
) -> dict[str, Any]:
    """One cell a seed: both ways of learning, and what the same planner earns in both models.

    With a folder finished cells are written there, and the runs under `runs`, which go on after
    an interruption.
    """
    chosen = experiment(env)
    if not any(info.has_reward for info in list_envs() if info.name == chosen.env):
        raise OocdmError(f"bench online: `{env}` has no reward to plan for. Choose mouse.")
    world = chosen.make(VARIANT).world
    measure = partial(_measure, env, world, folder, tell)
    return {
        "cells": [
            recall(folder, f"online-{env}-seed{seed}", partial(measure, seed)) for seed in seeds
        ]
    }


def _measure(
    env: str, world: AbstractWorld, folder: str | Path | None, tell: Tell | None, seed: int
) -> Result:
    def show(what: str, done: int, total: int) -> None:
        if tell is not None:
            tell(f"{env}, seed {seed}: {what}", done, total)

    def show_online(state: OnlineProgress) -> None:
        if state.fit is None:
            show("collecting", state.collected, state.steps)
        else:
            show(f"round {state.round}, {state.fit.phase}", state.fit.step, state.fit.total)

    runs = None if folder is None else Path(folder) / "runs"
    own = experiment(env).fit_options("oocdm", "default")
    first = STEPS // 8
    learned = learn_online(
        world,
        steps=STEPS,
        planner=PLANNER,
        first=first,
        explore=1 - PLANNED * STEPS / (STEPS - first),
        seed=seed,
        folder=None if runs is None else runs / f"{env}-online-seed{seed}",
        callback=show_online,
        **own,
    )
    place = None if runs is None else runs / f"{env}-offline-seed{seed}"
    offline = _fit_offline(world, seed, place, show, own)
    test = collect(world, TEST_STEPS, seed=10_000 + seed)
    found = {
        name: _judge(world, result, seed, partial(show, f"acting, {name}"))
        | {"aill_random": evaluate(result, test).aill, "fit_seconds": result.seconds}
        for name, result in (("online", learned.result), ("offline", offline))
    }
    one, other = (np.array(found[name]["returns"]) for name in ("online", "offline"))
    return {
        "env": env,
        "seed": seed,
        "transitions": STEPS,
        "planned_share": PLANNED,
        **found,
        # Episodes of both start from the same states, so differences are those of pairs.
        "difference": float((one - other).mean()),
        "standard_error": float((one - other).std(ddof=1) / np.sqrt(len(one))),
        "history": learned.history.to_json(),
        "planner": asdict(PLANNER),
        "command": f"oocdm bench online --env {env} --seeds {seed}",
        **describe_machine(),
    }


def _fit_offline(
    world: AbstractWorld,
    seed: int,
    place: Path | None,
    show: Callable[[str, int, int], None],
    own: dict[str, Any],
) -> FitResult:
    def tell(state: Progress) -> None:
        show(f"offline, {state.phase}", state.step, state.total)

    data = collect(world, STEPS, seed=seed)
    if place is not None and (place / CONFIG).is_file():
        return resume(place, data, tell)
    return fit(data, "oocdm", seed, folder=place, callback=tell, **own)


def _judge(
    world: AbstractWorld, result: FitResult, seed: int, show: Callable[[int, int], None]
) -> dict[str, Any]:
    def tell(state: EpisodesProgress) -> None:
        show(state.done, state.total)

    assert world.task is not None
    agent = MPC(result, world.task, PLANNER, seed)
    # Other starts than those of the training data.
    return run_episodes(
        world, agent, EPISODES, seed=1_000 + seed, max_steps=MAX_STEPS, progress=tell
    ).to_json()
