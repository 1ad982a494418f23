"""What agents earn in Mouse, and how models do on tasks that they have never seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from oocdm.bench.machine import describe_machine
from oocdm.bench.mouse import Tell, fitted_mouse, mouse_world, training_data
from oocdm.bench.results import Result, recall
from oocdm.errors import OocdmError
from oocdm.inference import evaluate
from oocdm.methods import method_class
from oocdm.planning import CEM, MPC, Agent, RandomAgent, TrueSimulator, run_episodes
from oocdm.planning.episodes import EpisodesProgress
from oocdm.training import FitResult
from oocdm.worlds import collect
from oocdm.worlds.world import AbstractWorld

METHODS = ("oocdm", "oofull")
BOUNDS = ("random", "true")  # a floor, and the same planner with the true dynamics
SEEDS = (0, 1)
EPISODES = 10
TEST_STEPS = 100_000
# As in the paper: its numbers are the defaults; its Algorithm 3 ignores the end of episodes.
PLANNER = CEM(stop_at_termination=False)
KINDS: dict[str, dict[str, Any]] = {"id": {}, "ood": {"ood": True}}
TASKS = {kind: {"tasks": kind} for kind in ("seen", "unseen")}


def run_returns(
    folder: str | Path | None = None,
    tell: Tell | None = None,
    methods: Sequence[str] = METHODS,
    seeds: Sequence[int] = SEEDS,
    episodes: int = EPISODES,
) -> dict[str, Any]:
    """The table of returns: Mouse from usual and from unusual starts.

    With a folder each finished cell is written there, and the fitted models under `runs`.
    """
    for method in methods:
        method_class(method)  # wrong names are told before anything runs
    cells = []
    for agent in (*BOUNDS, *methods):
        for seed in seeds:
            for kind in KINDS:
                measure = partial(_earn, agent, seed, kind, episodes, folder, tell)
                name = f"returns-{kind}-{agent}-seed{seed}{_unusual(episodes)}"
                cells.append(recall(folder, name, measure))
    return {"cells": cells}


def run_unseen(
    folder: str | Path | None = None,
    tell: Tell | None = None,
    methods: Sequence[str] = METHODS,
    seeds: Sequence[int] = SEEDS,
    episodes: int = EPISODES,
) -> dict[str, Any]:
    """The table of unseen tasks: trained on 47 tasks of Mouse, tried on those and on 53 others."""
    for method in methods:
        if method_class(method).needs_fixed_objects:
            raise OocdmError(
                f"Unseen tasks: expected a method for varying numbers of objects, got `{method}`. "
                "Leave it out; `oocdm methods` tells which take any."
            )
    cells = []
    for agent in (*BOUNDS, *methods):
        for seed in seeds:
            measure = partial(_transfer, agent, seed, episodes, folder, tell)
            name = f"unseen-{agent}-seed{seed}{_unusual(episodes)}"
            cells.append(recall(folder, name, measure))
    return {"cells": cells}


def _earn(
    agent: str, seed: int, kind: str, episodes: int, folder: str | Path | None, tell: Tell | None
) -> Result:
    world = mouse_world(KINDS[kind])
    fitted = None if agent in BOUNDS else fitted_mouse(agent, seed, {}, "mouse", folder, tell)
    name = f"Mouse {kind}, {agent}, seed {seed}"
    return {
        "env": "mouse",
        "kind": kind,
        "agent": agent,
        "seed": seed,
        **_returns(world, agent, fitted, seed, episodes, name, tell),
        "fit_seconds": None if fitted is None else fitted.seconds,
        "planner": asdict(PLANNER),
        "command": _command("returns", agent, seed, episodes),
        **describe_machine(),
    }


def _transfer(
    agent: str, seed: int, episodes: int, folder: str | Path | None, tell: Tell | None
) -> Result:
    fitted = None
    figures: dict[str, Any] = {}
    if agent not in BOUNDS:
        fitted = fitted_mouse(agent, seed, TASKS["seen"], "mouse-tasks", folder, tell)
        figures["fit_seconds"] = fitted.seconds
        figures["aill_train"] = evaluate(fitted, training_data(TASKS["seen"], seed)).aill
    for number, (kind, options) in enumerate(TASKS.items()):
        name = f"Mouse {kind} tasks, {agent}, seed {seed}"
        world = mouse_world(options)
        if fitted is not None:
            test = collect(world, TEST_STEPS, seed=10_000 * (1 + number) + seed)
            figures[f"aill_{kind}"] = evaluate(fitted, test).aill
        figures[kind] = _returns(world, agent, fitted, seed, episodes, name, tell)
    return {
        "env": "mouse",
        "agent": agent,
        "seed": seed,
        **figures,
        "planner": asdict(PLANNER),
        "command": _command("unseen", agent, seed, episodes),
        **describe_machine(),
    }


def _agent(name: str, world: AbstractWorld, fitted: FitResult | None, seed: int) -> Agent:
    if name == "random":
        return RandomAgent(world, seed)
    if fitted is None:
        return MPC.within(TrueSimulator(world), PLANNER, seed, warm_start=False)
    assert world.task is not None
    return MPC(fitted, world.task, PLANNER, seed, warm_start=False)


def _returns(
    world: AbstractWorld,
    agent: str,
    fitted: FitResult | None,
    seed: int,
    episodes: int,
    name: str,
    tell: Tell | None,
) -> dict[str, Any]:
    def show(state: EpisodesProgress) -> None:
        if tell is not None:
            tell(name, state.done, state.total)

    acting = _agent(agent, world, fitted, seed)
    # Other starts than those of the training data.
    found = run_episodes(world, acting, episodes, seed=1_000 + seed, progress=show)
    return {
        "episodes": episodes,
        "mean_return": found.mean_return,
        "standard_error": found.standard_error,
        "returns": found.returns.tolist(),
        "lengths": found.lengths.tolist(),
        "ms_a_step": 1e3 * found.seconds_a_step,
    }


def _unusual(episodes: int) -> str:
    """What the name of a cell says of another number of episodes."""
    return "" if episodes == EPISODES else f"-{episodes}episodes"


def _command(table: str, agent: str, seed: int, episodes: int) -> str:
    chosen = "" if agent in BOUNDS else f" --method {agent}"
    return f"oocdm bench paper --table {table}{chosen} --seeds {seed} --episodes {episodes}"
